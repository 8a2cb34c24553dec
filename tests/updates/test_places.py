"""Numbers at places that come in runs, against NumPy's indexing."""

import numpy as np
import pytest

from holdfast.updates import rows_of
from holdfast.updates.pieces import Places, taken
from holdfast.updates.samples import sample_of


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(("n_before", "n_after"), [(0, 0), (3, 0), (0, 7), (5, 2)])
@pytest.mark.parametrize("shift", [0, 1, 7])
def test_runs_are_taken_whole_and_the_ends_one_by_one(dtype, n_before, n_after, shift):
    runs = (np.array([2, 3, 9, 11])[:, None] * 8 + np.arange(8)).ravel() + shift
    before, after = runs[0] - n_before + np.arange(n_before) - 1, runs[-1] + 1 + np.arange(n_after)
    where, numbers = np.concatenate([before, runs, after]), np.arange(111).astype(dtype)
    places = Places.of(where)
    assert len(places.runs) == 4
    np.testing.assert_array_equal(taken(numbers, places), numbers[where])


@pytest.mark.parametrize(
    "where",
    [[0, 2, 4, 6, 8, 10, 12, 14], [1], [0, 1, 2, 3, 4, 5, 6, 8], [*range(8), *range(9, 17)], [4] * 8],
    ids=["apart", "one", "broken", "of two shifts", "again"],
)
def test_places_without_runs_are_taken_one_by_one(where):
    numbers = np.arange(20.0)
    np.testing.assert_array_equal(taken(numbers, Places.of(np.array(where))), numbers[where])


def test_a_sample_is_that_of_the_flat_updates_however_layers_cut_through_its_runs():
    rng = np.random.default_rng(0)
    layers = [[rng.normal(size=size).astype(np.float32) for size in (13, 1001, 2, 640)] for _ in range(5)]
    where = sample_of(1656, size=800, seed=3)
    flat = np.stack([np.concatenate(sent) for sent in layers])
    np.testing.assert_array_equal(rows_of(layers).at(where), flat[:, where])
