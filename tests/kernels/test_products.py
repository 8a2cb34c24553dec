"""Straight code for the products of all pairs of rows has the bits of the loops."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import kernels
from holdfast.errors import NonFiniteError
from holdfast.kernels import _tiers, passes
from holdfast.kernels._forms import FLOAT32, FLOAT64, PANEL
from holdfast.kernels._products import Products, tiles
from holdfast.updates import rows_of
from holdfast.updates.rows import CELL


def both(rows, own=None):
    """Return the products by the loops and by straight code."""
    kind = FLOAT32 if rows.dtype == np.float32 else FLOAT64
    shape = Products(len(rows) + (own is not None), kind, rows.base is not None, own is not None)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(passes, "_are_loaded", lambda name: True)
        _tiers._addresses[shape] = 0
        plain = kernels.gram(rows, beside=own)
        del _tiers._addresses[shape]
        _tiers.compile_now(shape)
        return plain, kernels.gram(rows, beside=own)


@pytest.mark.parametrize("registers", [(16, 16), (32, 16), (64, 32)], ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(
    n=st.integers(1, 23),
    dim=st.sampled_from([1, 5, PANEL - 1, PANEL, 3 * PANEL, 3 * PANEL + 77]),
    seed=st.integers(0, 2**20),
    has_base=st.booleans(),
    has_own=st.booleans(),
)
@settings(max_examples=12, deadline=None)
def test_products_have_the_bits_of_the_loops(registers, dtype, n, dim, seed, has_base, has_own):
    rng = np.random.default_rng(seed)
    sent = (rng.normal(size=(n, dim)) * 10.0 ** rng.integers(-9, 9, size=(n, 1))).astype(dtype)
    rows = rows_of(sent)
    if has_base:
        rows = replace(rows, base=(rng.normal(size=dim).astype(dtype),))
    own = rng.normal(size=dim).astype(dtype) if has_own else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_tiers, "registers_of", lambda features: registers)
        plain, straight = both(rows, own)
    assert plain.tobytes() == straight.tobytes()


@pytest.mark.parametrize("n_threads", [1, 3])
def test_neither_layers_nor_threads_nor_cells_change_a_bit(n_threads, monkeypatch):
    monkeypatch.setenv("HOLDFAST_THREADS", str(n_threads))
    rng = np.random.default_rng(0)
    sizes = [3, 0, 500, PANEL, 1, 2 * PANEL + 9, 0, CELL + 4, 7]
    sent = [[rng.normal(size=size).astype(np.float32) for size in sizes] for _ in range(9)]
    plain, straight = both(rows_of(sent))
    flat, _ = both(rows_of([np.concatenate(layers) for layers in sent]))
    assert plain.tobytes() == straight.tobytes() == flat.tobytes()


@pytest.mark.parametrize("n", [50, 63])
def test_many_rows_are_multiplied_too(n):
    rows = rows_of(np.random.default_rng(n).normal(size=(n, 2 * PANEL)).astype(np.float32))
    plain, straight = both(rows)
    assert plain.tobytes() == straight.tobytes()


@pytest.mark.parametrize("at", [0, PANEL - 1, 2 * PANEL - 1, 2 * PANEL, 2 * PANEL + 4])
@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_a_bad_value_is_found_and_so_is_who_sent_it(at, bad):
    sent = np.ones((6, 2 * PANEL + 5), dtype=np.float32)
    sent[1, at] = sent[4, at] = bad
    _tiers.compile_now(Products(6, FLOAT32, has_base=False, has_beside=False))
    with pytest.raises(NonFiniteError) as caught:
        kernels.gram(rows_of(sent))
    assert caught.value.rows == (1, 4)


@pytest.mark.parametrize("n", [4, 5])
def test_the_servers_own_row_is_not_taken_for_a_clients(n):
    own = np.full(PANEL, np.inf, dtype=np.float32)
    own[1:] = 0.0
    _tiers.compile_now(Products(n + 1, FLOAT32, has_base=False, has_beside=True))
    with pytest.raises(Exception, match="server's own update"):
        kernels.gram(rows_of(np.ones((n, PANEL), dtype=np.float32)), beside=own)


@given(n=st.integers(1, 64), most_pairs=st.sampled_from([1, 2, 4]))
def test_tiles_hold_every_product_once(n, most_pairs):
    held = [
        (row, other)
        for tile in tiles(n, most_pairs)
        for pair in tile.pairs
        for row in (2 * pair, 2 * pair + 1)
        for other in tile.others
    ]
    assert len(held) == len(set(held))
    assert {(i, j) for i in range(n) for j in range(i, n)} <= set(held)


def test_a_sum_that_skips_rows_without_weight_has_the_same_bits():
    rng = np.random.default_rng(0)
    rows = rows_of(rng.normal(size=(7, 3 * PANEL + 5)).astype(np.float32))
    weights = np.array([0.0, 0.3, -0.2, 0.0, 0.5, 0.1, 0.0])
    whole, skipped = (kernels.combine(rows, weights, skips=skips) for skips in (False, True))
    assert whole.update.tobytes() == skipped.update.tobytes()
    assert kernels.combine(rows, np.zeros(7), skips=True).update.sum() == 0
    explained = replace(rows, explain=True)
    assert kernels.combine(explained, weights, skips=True).clients.squares.size == 8
