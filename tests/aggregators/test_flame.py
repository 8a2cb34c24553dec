import numpy as np
import pytest

from holdfast import InputError, defend
from holdfast.aggregators import flame

from .. import naive_filters as naive


def draw(seed=0):
    return np.random.default_rng(seed)


def crowd(n_honest=12, n_attackers=5, dim=200, seed=0):
    """Honest clients around one direction, attackers around another."""
    rng = draw(seed)
    rows = 0.3 * rng.normal(size=(n_honest + n_attackers, dim)) + rng.normal(size=dim)
    rows[n_honest:] += rng.normal(size=dim)
    return rows


def test_models_are_compared_and_updates_are_clipped_by_hand():
    # With params (0, 2), the first three models point alike. The updates are (1, -1), (3, 1), (10, 8), (0, 2)
    # and (-1, 5), with squared lengths 2, 10, 164, 4 and 26, whose median is 10.
    params = np.array([0.0, 2.0])
    updates = np.array([[1.0, 1], [3, 3], [10, 10], [0, 4], [-1, 7]]) - params
    result = flame(updates, noise=0.0, params=params, rng=draw())
    assert result.diagnostics.selected.tolist() == [True, True, True, False, False]
    clip = (10 / 164) ** 0.5
    np.testing.assert_allclose(result.update, [(4 + 10 * clip) / 3, 8 * clip / 3], rtol=1e-14)
    # The updates alone point at -45, 18, 39, 90 and 101 degrees.
    alone = flame(updates, noise=0.0, rng=draw())
    assert alone.diagnostics.selected.tolist() == [False, True, True, True, True]


@pytest.mark.parametrize("seed", range(5))
def test_it_agrees_with_full_hdbscan_on_models(seed):
    rows = crowd(n_attackers=2 + seed, seed=seed)
    params = draw(9).normal(size=200)
    got = flame(rows, noise=0.0, params=params, rng=draw())
    np.testing.assert_allclose(got.update, naive.flame(rows, params), rtol=1e-12)


def test_attackers_who_stand_apart_are_dropped_and_a_majority_is_kept():
    for seed in range(5):
        said = flame(crowd(seed=seed), rng=draw()).diagnostics
        assert not said.selected[12:].any()
        assert said.selected.sum() >= 9
        assert said.notes[0] == f"keeps {said.selected.sum()} of 17 clients"


def test_noise_is_lambda_times_the_median_length():
    rows = np.zeros((5, 50_000), dtype=np.float32)
    rows[:, 0] = [3, 3, 3, 3, 30]
    first, again = (flame(rows, noise=0.1, rng=draw(4)).update for _ in range(2))
    np.testing.assert_array_equal(first, again)
    assert first[1:].std() == pytest.approx(0.3, rel=0.02)


@pytest.mark.parametrize("huge", [0.0, 1e38, -1e38])
def test_hostile_rows_are_no_longer_than_the_median(huge):
    rows = crowd(n_attackers=0).astype(np.float32)
    rows[[2, 5, 7]] = huge
    result = flame(rows, noise=0.0, rng=draw())
    assert np.linalg.norm(result.update) <= np.median(np.linalg.norm(rows.astype(np.float64), axis=1)) * 1.001


def test_clones_are_a_crowd_and_equal_rows_are_all_kept():
    clones = np.vstack([crowd(6, 0), np.tile(np.ones(200), (7, 1))])
    assert flame(clones, rng=draw()).diagnostics.selected.tolist() == [False] * 6 + [True] * 7
    for same in (np.ones((5, 3)), np.zeros((5, 3))):
        result = flame(same, noise=0.0, rng=draw())
        assert result.diagnostics.selected.all()
        np.testing.assert_allclose(result.update, same[0], rtol=1e-15)


def test_what_it_lacks_is_told():
    assert "not known, and counts as zero" in flame(crowd(), rng=draw()).diagnostics.notes[1]
    assert "at least 3 clients" in flame(crowd(2, 0), params=np.zeros(200), rng=draw()).diagnostics.notes[1]
    with pytest.raises(InputError, match="noise must be"):
        flame(crowd(), noise=-1.0, rng=draw())
    with pytest.raises(InputError, match="params must have the form"):
        flame(crowd(), params=np.zeros(3), rng=draw())


def test_a_server_hands_over_its_model():
    params, rows = draw(9).normal(size=200), crowd()
    said = defend(list(params + rows), flame, base=params, rng=draw()).diagnostics
    assert len(said.notes) == 1
    np.testing.assert_array_equal(said.selected, flame(rows, params=params, rng=draw()).diagnostics.selected)
