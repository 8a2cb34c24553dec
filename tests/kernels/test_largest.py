"""Counts of magnitudes and of signs against their slow twins."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast.errors import NonFiniteError
from holdfast.kernels.elections import concordance
from holdfast.kernels.largest import agreement, cutoffs
from holdfast.updates import rows_of
from holdfast.updates.rows import CELL

from .test_columns import TYPES, strange

rounds = {"n": st.integers(1, 12), "dim": st.integers(1, 300), "seed": st.integers(0, 2**20)}


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: np.dtype(t).name)
@given(**rounds, share=st.floats(0, 1))
@settings(max_examples=25, deadline=None)
def test_the_largest_magnitudes_end_where_sorting_says(dtype, n, dim, seed, share):
    rows = strange(np.random.default_rng(seed), n, dim, dtype)
    n_largest = max(1, int(share * dim))
    found = cutoffs(rows_of(rows), n_largest)
    magnitudes = np.abs(rows.astype(np.float64))
    values = -np.sort(-magnitudes, axis=1)[:, n_largest - 1]
    np.testing.assert_array_equal(found.values, values)
    np.testing.assert_array_equal(found.n_ties, (magnitudes == values[:, None]).sum(axis=1))
    np.testing.assert_array_equal(found.n_taken, n_largest - (magnitudes > values[:, None]).sum(axis=1))


@given(**rounds, share=st.floats(0, 1))
@settings(max_examples=25, deadline=None)
def test_agreements_are_those_of_all_ways_to_break_ties(n, dim, seed, share):
    rows = strange(np.random.default_rng(seed), n, dim, np.float32)
    n_largest = max(1, int(share * dim))
    got = agreement(rows_of(rows), cutoffs(rows_of(rows), n_largest))
    agrees = np.sign(rows) == np.sign(np.sign(rows).sum(axis=0))
    for row, told in enumerate(got):
        magnitudes = np.abs(rows[row])
        last = -np.sort(-magnitudes)[n_largest - 1]
        above, tied = agrees[row][magnitudes > last], agrees[row][magnitudes == last]
        assert told == pytest.approx(above.sum() + (n_largest - len(above)) * tied.mean())


@given(**rounds)
@settings(max_examples=25, deadline=None)
def test_the_concordance_of_signs_is_the_product_of_their_matrix(n, dim, seed):
    rows = strange(np.random.default_rng(seed), n, dim, np.float32)
    signs = np.sign(rows).astype(np.int64)
    np.testing.assert_array_equal(concordance(rows_of(rows)), signs @ signs.T)


def test_neither_threads_nor_cells_change_a_count(monkeypatch):
    rows = np.random.default_rng(0).normal(size=(5, 3 * CELL + 7)).astype(np.float32)
    monkeypatch.setenv("HOLDFAST_THREADS", "1")
    once = cutoffs(rows_of(rows), 9999), concordance(rows_of(rows))
    monkeypatch.setenv("HOLDFAST_THREADS", "3")
    monkeypatch.setattr("holdfast.kernels.passes.CELLS_PER_TASK", 1)
    again = cutoffs(rows_of(rows), 9999), concordance(rows_of(rows))
    for one, other in zip([*once[0], once[1]], [*again[0], again[1]], strict=True):
        np.testing.assert_array_equal(one, other)


@pytest.mark.parametrize("count", [lambda rows: cutoffs(rows, 2), concordance])
def test_a_bad_value_is_found_on_the_way(count):
    rows = np.zeros((6, CELL + 77), dtype=np.float32)
    rows[1, CELL] = rows[4, 0] = np.inf
    with pytest.raises(NonFiniteError) as caught:
        count(rows_of(rows))
    assert caught.value.rows == (1, 4)
