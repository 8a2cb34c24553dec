import numpy as np
import pytest

from holdfast import InputError, kernels, krum, multi_krum, rfa
from holdfast.aggregators.geometry import (
    clip_factors,
    cosines,
    distances_to_sum,
    gram_around,
    squared_distances,
)
from holdfast.errors import DataError, NonFiniteError
from holdfast.updates import rows_of


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


@pytest.mark.parametrize("common", [1e4, 1e8, 1e10, 1e12])
@pytest.mark.parametrize("rule", [krum(n_malicious=4), multi_krum(n_malicious=4), rfa], ids=str)
def test_what_rows_have_in_common_does_not_hide_how_far_apart_they_are(rule, common):
    rng = np.random.default_rng(0)
    rows = rng.normal(size=(20, 100))
    rows[:4] *= 20
    moved = rows + common * rng.normal(size=100)
    expected, found = rule(rows).diagnostics, rule(moved).diagnostics
    np.testing.assert_allclose(found.client_weights, expected.client_weights, atol=1e-6)
    assert found.covered == expected.covered


def test_rows_that_are_all_alike_are_no_matter():
    rows = np.full((7, 3), 5.0)
    for rule in (krum(n_malicious=2), multi_krum(n_malicious=2), rfa):
        np.testing.assert_allclose(rule(rows).update, rows[0])
        np.testing.assert_array_equal(rule(0 * rows).update, 0)


def test_a_row_that_cannot_be_read_again_is_the_one_that_is_refused(monkeypatch):
    def broken(rows):
        raise DataError("base, the global model, holds fewer numbers")

    monkeypatch.setattr(kernels, "gram", broken)
    with pytest.raises(NonFiniteError) as caught:
        gram_around(rows_of(np.ones((5, 2))), 3)
    assert caught.value.rows == (3,)


def test_rows_whose_squares_overflow_are_refused():
    with pytest.raises(InputError, match="row 1 holds values so large that their length overflows"):
        krum(np.array([[1.0], [1e160], [1.0], [1.0]]), n_malicious=1)
