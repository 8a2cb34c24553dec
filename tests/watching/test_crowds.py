"""The search for factions against slow twins, and what it finds in crowds that are made up."""

import numpy as np
import pytest

from holdfast.watching.crowds import (
    N_DIRECTIONS,
    N_FOLDS,
    N_FOR_DIRECTIONS,
    N_SEARCHED,
    N_SHARED,
    Known,
    factions_in,
    main_points,
    map_of,
    shared_part,
)


def rows_of_crowd(n, dim=300, seed=0, apart=(), far=1.0, scale=1000):
    """Return rows of noise, of which some are pushed the same way."""
    rng = np.random.default_rng([n, dim, seed])
    rows = rng.normal(size=(n, dim))
    rows[list(apart)] += far * rng.normal(size=dim)
    return np.clip(np.rint(scale * rows), -24_576, 24_576).astype(np.int16)


def members(found):
    return [set(faction.members.tolist()) for faction in found]


def with_few_directions(n, dim, k, seed=0):
    """Return rows that differ in k ways mostly, each weaker than the one before."""
    rng = np.random.default_rng([n, k, seed])
    ways = rng.normal(size=(n, k)) * np.linspace(3, 1.5, k) @ rng.normal(size=(k, dim))
    return np.rint(300 * (ways + 0.2 * rng.normal(size=(n, dim)))).astype(np.int16)


@pytest.mark.parametrize(("n", "k"), [(30, 6), (90, 12), (700, 12)])
def test_main_points_are_those_of_a_singular_value_decomposition(n, k):
    view, weights = with_few_directions(n, 200, k), np.random.default_rng(n).integers(1, 11, n).astype(float)
    some = np.linspace(0, n - 1, min(n, N_FOR_DIRECTIONS)).astype(int)
    rows = view.astype(np.float64) - np.average(view[some], axis=0, weights=weights[some])
    axes = np.linalg.svd(np.sqrt(weights[some])[:, None] * rows[some], full_matrices=False)[2][:k]
    expected, points = rows @ axes.T, main_points(view, weights)
    assert points.shape == (n, min(k, N_DIRECTIONS))
    turn, *_ = np.linalg.lstsq(expected, points, rcond=None)
    np.testing.assert_allclose(expected @ turn, points, atol=2e-3 * np.abs(points).max())
    np.testing.assert_allclose(turn.T @ turn, np.eye(k), atol=0.1)


@pytest.mark.parametrize("n", [40, 600])
def test_what_is_known_already_changes_no_bit(n):
    view, weights = rows_of_crowd(n, apart=range(n // 8)), np.ones(n)
    known = Known.of(view, weights)
    assert main_points(view, weights).tobytes() == known.points.tobytes()
    assert shared_part(view) == shared_part(view, known=known)
    one, other = factions_in(view, weights), factions_in(view, weights, known=known)
    assert [faction.strength for faction in one] == [faction.strength for faction in other]
    assert members(one) == members(other) == [set(range(n // 8))]
    places = (map_of(view, weights, np.arange(n) < 5, known=given).tobytes() for given in (None, known))
    assert len(set(places)) == 1


@pytest.mark.parametrize(("n", "k"), [(24, 3), (50, 8), (103, 20)])
def test_the_shared_part_is_what_directions_of_the_others_explain(n, k):
    view = with_few_directions(n, 150, k)
    rows = view - view.mean(axis=0)
    explained = np.zeros(n)
    for fold in range(N_FOLDS):
        tried = np.arange(n) % N_FOLDS == fold
        axes = np.linalg.svd(rows[~tried], full_matrices=False)[2][:N_SHARED]
        explained[tried] = ((rows[tried] @ axes.T) ** 2).sum(axis=1)
    expected = np.median(explained / (rows**2).sum(axis=1))
    assert shared_part(view) == pytest.approx(expected, abs=0.01)


def test_nothing_is_shared_by_nobody_nor_by_clones():
    assert shared_part(np.zeros((12, 5), np.int16)) == 0
    assert shared_part(np.ones((12, 5), np.int16)) == 0


@pytest.mark.parametrize("n", [10, 11, 13, 20, 33, 50, 80, 130, 200, 300])
def test_there_is_no_faction_in_noise(n):
    for seed in range(3):
        assert members(factions_in(rows_of_crowd(n, seed=seed), np.ones(n))) == []


@pytest.mark.parametrize(("n", "size"), [(20, 4), (40, 4), (60, 6), (100, 20), (300, 40), (600, 60)])
def test_those_who_push_together_are_found_and_nobody_else(n, size):
    apart = np.random.default_rng(n).permutation(n)[:size]
    (found,) = factions_in(rows_of_crowd(n, apart=apart), np.ones(n))
    assert set(found.members) == set(apart)
    assert found.strength > 0


def test_several_factions_are_told_apart():
    rows = rows_of_crowd(80, apart=range(10), far=1.5)
    rows[10:25] = np.clip(rows[10:25] + rows_of_crowd(1, seed=9)[0], -24_576, 24_576)
    assert sorted(map(sorted, members(factions_in(rows, np.ones(80))))) == [
        list(range(10)),
        list(range(10, 25)),
    ]


@pytest.mark.parametrize("size", [24, 25, 26, 35])
def test_never_more_than_half_are_in_factions(size):
    rows = rows_of_crowd(50, apart=range(size), far=2.0)
    rows[size : size + 8] = rows_of_crowd(8, seed=5, apart=range(8), far=2.0)
    found = factions_in(rows, np.ones(50))
    assert found
    everybody = [client for faction in found for client in faction.members]
    assert len(everybody) == len(set(everybody)) <= 25


def test_the_order_of_the_clients_does_not_matter():
    rows, weights = rows_of_crowd(60, apart=range(9)), np.arange(60) % 10 + 1.0
    order = np.random.default_rng(1).permutation(60)
    found, reordered = factions_in(rows, weights), factions_in(rows[order], weights[order])
    assert members(found) == [{int(order[client]) for client in one} for one in members(reordered)]
    assert found[0].strength == pytest.approx(reordered[0].strength, rel=0.05)


def test_rows_in_places_of_their_own_are_searched_alike():
    rows = rows_of_crowd(40, apart=range(6))
    apart = np.empty(40, object)
    apart[:] = [row.copy() for row in rows]
    one, other = factions_in(rows, np.ones(40)), factions_in(apart, np.ones(40))
    assert members(one) == members(other)
    assert one[0].strength == other[0].strength
    assert shared_part(rows) == shared_part(apart)


@pytest.mark.parametrize(
    "rows",
    [
        np.zeros((15, 6), np.int16),
        np.full((15, 6), 2**15 - 1, np.int16),
        rows_of_crowd(15, dim=1),
        rows_of_crowd(15, dim=2),
        np.eye(15, dtype=np.int16),
        np.repeat(rows_of_crowd(2), [10, 5], axis=0),
        np.concatenate([np.zeros((14, 6), np.int16), np.ones((1, 6), np.int16)]),
    ],
    ids=["zeros", "largest", "one coordinate", "two", "each its own", "two kinds of clones", "one differs"],
)
def test_odd_crowds_are_searched_without_a_number_that_is_none(rows):
    found = factions_in(rows, np.ones(len(rows)))
    assert sum(len(faction.members) for faction in found) <= len(rows) // 2
    assert np.isfinite([faction.strength for faction in found]).all()
    assert np.isfinite(main_points(rows, np.ones(len(rows)))).all()
    assert 0 <= shared_part(rows) <= 1 + 1e-9
    for outside in (np.zeros(15, bool), np.arange(15) < 5, np.ones(15, bool)):
        assert np.isfinite(map_of(rows, np.ones(15), outside)).all()


@pytest.mark.parametrize("n", [1, 2, 3, N_SEARCHED - 1])
def test_few_clients_are_not_searched_and_have_a_place_all_the_same(n):
    rows = rows_of_crowd(n)
    assert factions_in(rows, np.ones(n)) == []
    assert map_of(rows, np.ones(n), np.zeros(n, bool)).shape == (n, 2)


def test_on_the_map_a_faction_is_off_the_crowd_and_the_crowd_is_of_unit_size():
    outside = np.arange(60) < 9
    places = map_of(rows_of_crowd(60, apart=range(9)), np.ones(60), outside)
    assert places[:9, 0].min() > places[9:, 0].max()
    np.testing.assert_allclose(places[9:].std(axis=0), 1)
