import numpy as np
import pytest

from holdfast import InputError, defend
from holdfast.aggregators import multi_metrics
from holdfast.aggregators.multi_metrics import turns, whitened_squares
from holdfast.errors import NonFiniteError, TooFewClientsError

from .. import naive_filters as naive

PARAMS = np.random.default_rng(9).normal(size=200)


def crowd(n_honest=16, n_attackers=4, seed=0):
    rng = np.random.default_rng(seed)
    rows = 0.1 * (0.5 * rng.normal(size=(n_honest + n_attackers, 200)) + rng.normal(size=200))
    rows[n_honest:] += 0.1 * rng.normal(size=200)
    return rows


def test_lengths_alone_by_hand():
    # In one coordinate both lengths are |x|, and without a model the cosine tells nothing. The lengths 1, 2,
    # 3, 4 and 10 differ from all others by 15, 12, 11, 12 and 30 in sum, and scores follow these sums.
    rows = np.array([[1.0], [-2.0], [3.0], [-4.0], [10.0]])
    assert multi_metrics(rows, kept=0.2).diagnostics.selected.tolist() == [False, False, True, False, False]
    result = multi_metrics(rows, kept=0.6)
    assert result.diagnostics.selected.tolist() == [False, True, True, True, False]
    np.testing.assert_allclose(result.update, [-1.0])


def test_scores_are_whitened_by_hand():
    # Their covariance is ((4, 4), (4, 8)) / 3, and its inverse ((2, -1), (-1, 1)) * 3 / 4.
    values = np.array([[0.0, 0], [2, 2], [0, 2], [2, 4]])
    for units in (np.ones(2), np.array([1e6, 1e-9])):
        np.testing.assert_allclose(whitened_squares(values * units, 4 * units), [0, 3, 3, 6], atol=1e-12)


def test_small_angles_are_told_as_well_as_large_ones():
    own = np.longdouble(PARAMS)
    for size in (1e-8, 1e-3, 1.0, 50.0):
        rows = size * np.random.default_rng(1).normal(size=(6, 200))
        squares = np.append((rows**2).sum(axis=1), PARAMS @ PARAMS)
        models = rows + own
        expected = 1 - models @ own / np.sqrt((models**2).sum(axis=1) * (own @ own))
        tolerance = 1e-2 if size == 1e-8 else 1e-9  # of the longdouble, too
        np.testing.assert_allclose(
            turns(squares, np.append(rows @ PARAMS, squares[-1])), expected.astype(float), rtol=tolerance
        )
    np.testing.assert_array_equal(turns(np.array([3.0, 0.0]), np.zeros(2)), [1.0])


@pytest.mark.parametrize("seed", range(5))
def test_it_agrees_with_its_twin(seed):
    rows = crowd(seed=seed)
    got = multi_metrics(rows, params=PARAMS)
    np.testing.assert_allclose(got.update, naive.multi_metrics(rows, 0.3, PARAMS), rtol=1e-9)


def test_attackers_of_another_length_are_dropped():
    for seed in range(5):
        rows = crowd(seed=seed)
        for changed in (rows, rows * np.where(np.arange(20) < 16, 1, 5)[:, None]):
            said = multi_metrics(changed, params=PARAMS).diagnostics
            assert not said.selected[16:].any()
            assert said.notes == ("keeps 6 of 20 clients",)


def test_an_update_as_long_as_the_others_passes_wherever_it_points():
    rows = np.abs(np.random.default_rng(0).normal(size=(10, 30)))
    turned = rows.copy()
    turned[0] *= -1
    first, second = multi_metrics(rows), multi_metrics(turned)
    np.testing.assert_array_equal(first.diagnostics.selected, second.diagnostics.selected)


@pytest.mark.parametrize("huge", [0.0, 1e38, -1e38])
def test_hostile_rows_are_dropped(huge):
    rows = crowd().astype(np.float32)
    rows[[2, 5, 7]] = huge
    assert not multi_metrics(rows, params=PARAMS).diagnostics.selected[[2, 5, 7]].any()


def test_clones_and_equal_rows_survive():
    clones = crowd()
    clones[16:] = 3.0
    assert not multi_metrics(clones, params=PARAMS).diagnostics.selected[16:].any()
    for same in (np.ones((5, 3)), np.zeros((5, 3))):
        np.testing.assert_array_equal(multi_metrics(same).update, same[0])


def test_rounds_that_it_cannot_judge_are_told():
    assert "plain averaging" in multi_metrics(crowd(), kept=1.0, params=PARAMS).diagnostics.notes[1]
    assert "counts as zero" in multi_metrics(crowd()).diagnostics.notes[1]
    with pytest.raises(TooFewClientsError, match="multi_metrics needs at least 3 clients"):
        multi_metrics(np.eye(2))
    for kept in (0.0, 1.1, True):
        with pytest.raises(InputError, match="kept"):
            multi_metrics(crowd(), kept=kept)
    with pytest.raises(NonFiniteError, match="row 1"):
        multi_metrics(np.array([[1.0], [np.nan], [1.0]]))


def test_a_server_hands_over_its_model():
    said = defend(list(PARAMS + crowd()), multi_metrics, base=PARAMS).diagnostics
    np.testing.assert_array_equal(said.selected, multi_metrics(crowd(), params=PARAMS).diagnostics.selected)
