import numpy as np
import pytest

from holdfast import InputError, kernels
from holdfast.aggregators import rflbat
from holdfast.aggregators.clusters import principal_points
from holdfast.aggregators.rflbat import _unhidden, is_near, least_alike
from holdfast.errors import NonFiniteError, TooFewClientsError
from holdfast.updates import rows_of

from .. import naive_filters as naive


def draw(seed=0):
    return np.random.default_rng(seed)


def crowd(n_honest=16, n_attackers=4, dim=200, shift=3.0, seed=0):
    rng = draw(seed)
    rows = 0.3 * rng.normal(size=(n_honest + n_attackers, dim)) + rng.normal(size=dim)
    rows[n_honest:] += shift * rng.normal(size=dim)
    return rows


def test_the_group_that_is_least_alike_is_kept_by_hand():
    # All in one plane, around two places. Those on the left, at angles of 16 and -16 degrees, have cosines of
    # 1 and 0.85 with one another, 0.92 in the mean; those on the right, two degrees apart, above 0.999.
    left = [[7.0, 2], [7, -2], [7.0, 2], [7.0, -2]]
    right = [[900.0, 0], [900, 15], [900, -15]]
    result = rflbat(np.array(left + right), rng=draw())
    np.testing.assert_array_equal(result.update, [7.0, 0.0])
    similar = np.array([[1.0, 0.6, 0], [0.6, 1, 0], [0, 0, 1]])
    assert least_alike(similar, np.array([3, 3, 5])) == 3
    assert least_alike(similar, np.array([5, 3, 3])) == 3  # a mean of 0.5, with the row itself


def test_outliers_are_told_by_their_summed_distance_by_hand():
    points = np.array([[0.0, 0], [0, 3], [4, 0], [40, 0]])  # sums 47, 8 + 40.11, 45, 116.11; median 47.56
    assert is_near(points, 2.45).all()
    assert is_near(points, 2.44).tolist() == [True, True, True, False]


@pytest.mark.parametrize("seed", range(3))
def test_it_agrees_with_its_twin(seed):
    rows = crowd(seed=seed)
    np.testing.assert_allclose(rflbat(rows, rng=draw(seed)).update, naive.rflbat(rows, draw(seed)), rtol=1e-9)


def test_alike_attackers_are_dropped_and_a_crowd_without_any_is_kept():
    for seed in range(5):
        said = rflbat(crowd(seed=seed), rng=draw()).diagnostics
        assert not said.selected[16:].any()
        assert said.selected.sum() >= 5
        assert said.notes == (f"keeps {said.selected.sum()} of 20 clients",)
        assert rflbat(crowd(n_attackers=0, seed=seed), rng=draw()).diagnostics.selected.sum() >= 14


def test_a_minority_of_attackers_who_differ_more_than_the_honest_can_take_the_round():
    rows = np.zeros((24, 200))
    rows[:16, 1], rows[16:, 0] = 1, 6
    rows[:16] += 0.3 * draw().normal(size=(16, 200)) / 200**0.5  # cosines of 0.92 with one another
    rows[range(16, 24), range(2, 10)] = 4.5  # cosines of 0.64
    rounds = (rflbat(rows, rng=draw(seed)).diagnostics.selected for seed in range(8))
    assert any(not selected[:16].any() for selected in rounds)


@pytest.mark.parametrize("huge", [0.0, 1e38, -1e38])
def test_hostile_clones_are_dropped(huge):
    rows = crowd(n_attackers=0).astype(np.float32)
    rows[[2, 5, 7]] = huge
    said = rflbat(rows, rng=draw()).diagnostics
    assert said.selected.any()
    if huge:  # zeros are at right angles to everything, and so as little alike as can be
        assert not said.selected[[2, 5, 7]].any()


def test_equal_rows_are_all_kept_and_what_they_share_hides_nothing():
    np.testing.assert_array_equal(rflbat(np.ones((5, 3)), rng=draw()).update, np.ones(3))
    shared = 1e9 * crowd()
    shared[:] = shared[0]
    groups = [principal_points(_unhidden(rows_of(rows), kernels.gram(rows_of(rows))), 2) for rows in
              (crowd(), crowd() + shared)]  # fmt: skip
    far = [np.abs(points[:, None] - points[None]).sum(axis=2) for points in groups]
    np.testing.assert_allclose(far[1], far[0], rtol=1e-3, atol=1e-3)


def test_what_it_cannot_do_is_told():
    with pytest.raises(TooFewClientsError, match="rflbat needs at least 3 clients"):
        rflbat(np.eye(2), rng=draw())
    with pytest.raises(InputError, match="outer must be"):
        rflbat(crowd(), outer=0.0, rng=draw())
    with pytest.raises(NonFiniteError, match="row 1"):
        rflbat(np.array([[1.0], [np.nan], [1.0]]), rng=draw())
