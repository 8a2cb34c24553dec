"""Products of many rows, block by block, are those of a pass over the cells, to the bit."""

import tracemalloc

import numpy as np
import pytest

from holdfast import kernels, krum, multi_krum_cosine
from holdfast.defending.screening import fitting
from holdfast.errors import NonFiniteError
from holdfast.kernels import pairs
from holdfast.kernels.passes import Job, run
from holdfast.updates import rows_of
from holdfast.updates.rows import CELL

NOTHING = np.empty(0)


def by_cells(rows, beside):
    size = len(rows) + (beside.size > 0)
    upper = np.triu(run(rows, Job("gram", (-(-size // 4) * 4,) * 2, beside)).sums[:size, :size])
    return upper + np.triu(upper, 1).T


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize("n", [5, 8, 12, 13])
def test_products_have_the_bits_of_a_pass_over_the_cells(monkeypatch, n, dtype):
    monkeypatch.setattr(pairs, "BLOCK", 4)
    rng = np.random.default_rng(n)
    matrix, own = rng.normal(size=(n, CELL + 1030)).astype(dtype), rng.normal(size=CELL + 1030)
    for rows in (rows_of(matrix), fitting(list(matrix), base=matrix[0]).rows):
        for beside in (NOTHING.astype(rows.dtype), own.astype(rows.dtype)):
            np.testing.assert_array_equal(pairs.gram(rows, beside).sums, by_cells(rows, beside))


def test_products_of_rows_that_do_not_lie_in_one_piece(monkeypatch):
    monkeypatch.setattr(pairs, "BLOCK", 4)
    matrix = np.random.default_rng(0).normal(size=(10, 6000)).astype(np.float32)
    layers = [[row[:4000].reshape(40, 100), row[4000:]] for row in matrix]
    for odd in (2, 5, 9):
        layers[odd] = [np.asfortranarray(layers[odd][0]), layers[odd][1].astype(">f4")]
    assert len(rows_of(layers)) > 2 * pairs.BLOCK
    np.testing.assert_array_equal(kernels.gram(rows_of(layers)), by_cells(rows_of(matrix), NOTHING))


def test_bad_rows_are_named_whichever_block_they_are_in(monkeypatch):
    monkeypatch.setattr(pairs, "BLOCK", 4)
    matrix = np.ones((11, 50))
    matrix[[3, 10], 7] = np.nan
    with pytest.raises(NonFiniteError) as caught:
        kernels.gram(rows_of(matrix), beside=np.ones(50))
    assert caught.value.rows == (3, 10)


@pytest.mark.parametrize("rule", [krum(n_malicious=9), multi_krum_cosine(n_malicious=9)], ids=str)
def test_many_clients_cost_little_memory_beside_the_products(rule):
    n = 1500
    updates = np.random.default_rng(0).normal(size=(n, 20)).astype(np.float32)
    tracemalloc.start()
    rule(updates)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 2.2 * 8 * n * n
