import numpy as np

from holdfast.aggregators.geometry import clip_factors, cosines, distances_to_sum, squared_distances


def test_distances_and_angles_are_those_between_the_rows():
    rows = np.random.default_rng(0).normal(size=(6, 20))
    gram = rows @ rows.T
    apart = np.linalg.norm(rows[:, None] - rows[None], axis=2)
    np.testing.assert_allclose(squared_distances(gram), apart**2, atol=1e-10)
    weights = np.arange(6) / 15
    np.testing.assert_allclose(distances_to_sum(gram, weights), np.linalg.norm(rows - weights @ rows, axis=1))
    unit = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    np.testing.assert_allclose(cosines(gram), unit @ unit.T)


def test_a_row_of_zeros_has_no_angle_and_is_not_clipped():
    assert cosines(np.array([[1.0, 0.0], [0.0, 0.0]])).tolist() == [[1, 0], [0, 0]]
    assert clip_factors(np.array([0.0, 1.0, 4.0]), 2.0).tolist() == [1, 1, 0.5]
