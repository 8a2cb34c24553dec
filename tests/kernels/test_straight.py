"""Straight code has the bits of the loops that take any number of rows, on whatever numbers there are."""

import os
import subprocess
import sys
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import kernels
from holdfast.defending.screening import fitting
from holdfast.errors import NonFiniteError
from holdfast.kernels import _tiers, passes
from holdfast.kernels._blocks import WIDTH
from holdfast.kernels._forms import FLOAT32, FLOAT64, LANES
from holdfast.kernels._straight import Shape, assembly
from holdfast.updates import rows_of
from holdfast.updates.rows import CELL

from .. import naive
from .test_columns import strange

REGISTERS = [(16, 16), (32, 16), (64, 32)]


def both(rows, k, votes):
    """Return what the loops and what straight code make of the rows, called by the loops and from Python."""
    shape = shape_of(rows, n_trimmed=k, is_masked=votes > 0)
    return on_all_ways(shape, lambda: kernels.trimmed_mean(rows, n_trimmed=k, n_votes=votes))


def shape_of(rows, **settings):
    kind = FLOAT32 if rows.dtype == np.float32 else FLOAT64
    given = {"n_trimmed": 0, "is_masked": False, **settings}
    return Shape(n_rows=len(rows), kind=kind, has_base=rows.base is not None, explain=rows.explain, **given)


def on_all_ways(shape, call):
    found = []
    for is_straight, are_loaded in ((False, True), (True, True), (True, False)):
        _tiers._addresses.pop(shape, None)
        if is_straight:
            _tiers.compile_now(shape)
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(passes, "_are_loaded", lambda name, are_loaded=are_loaded: are_loaded)
            found.append(call())
    return found


def assert_same(plain, *others):
    for other in others:
        assert_equal(plain, other)


def assert_equal(plain, straight):
    assert plain.update.tobytes() == straight.update.tobytes()
    assert plain.n_kept == straight.n_kept
    if plain.clients is not None:
        for name in ("squares", "dots", "opposed", "trimmed", "consistency"):
            assert getattr(plain.clients, name).tobytes() == getattr(straight.clients, name).tobytes(), name


@pytest.mark.parametrize("registers", REGISTERS, ids=str)
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(
    n=st.integers(1, 24),
    dim=st.integers(1, 3 * WIDTH),
    seed=st.integers(0, 2**20),
    k=st.integers(0, 12),
    votes=st.integers(0, 25),
    has_base=st.booleans(),
    explain=st.booleans(),
)
@settings(max_examples=12, deadline=None)
def test_straight_code_has_the_bits_of_the_loops(registers, dtype, n, dim, seed, k, votes, has_base, explain):
    rng = np.random.default_rng(seed)
    sent, k = strange(rng, n, dim, dtype), min(k, (n - 1) // 2)
    base = rng.normal(size=dim).astype(dtype) / 2 if has_base else None
    rows = rows_of(sent, explain=explain)
    rows = rows if base is None else replace(rows, base=(base,))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_tiers, "registers_of", lambda features: registers)
        found = both(rows, k, votes)
    assert_same(*found)


@pytest.mark.parametrize("dim", range(LANES, LANES + WIDTH + 2))
def test_columns_that_fill_no_block_are_counted_once(dim):
    rows = rows_of(np.random.default_rng(dim).normal(size=(5, dim)).astype(np.float32))
    plain, *others = both(rows, 1, 3)
    assert_same(plain, *others)
    assert 0 < plain.n_kept < dim


@pytest.mark.parametrize("n", [2, 3, 33, 50, 101, 200])
def test_any_number_of_rows_that_straight_code_takes_is_sorted(n):
    rows = np.random.default_rng(n).normal(size=(n, 2 * WIDTH)).astype(np.float32)
    k = (n - 1) // 3
    plain, straight, direct = both(rows_of(rows), k, n // 4)
    assert_same(plain, straight, direct)
    passes = np.abs(naive.votes(rows.astype(np.float64))) >= n // 4
    twin = naive.middle_mean(rows.astype(np.float64), k) * passes
    np.testing.assert_allclose(straight.update, twin, rtol=1e-6, atol=1e-9)


def test_layers_of_any_size_and_type_and_rows_that_do_not_lie_in_one_piece_are_left_to_the_loops():
    rng = np.random.default_rng(0)
    sizes = [3, 0, 500, 1, 129, 300, 40, WIDTH, 2 * WIDTH + 1]
    types = [np.float32, np.float32, np.float32, np.float16, np.float32, np.float16, np.float32, np.float32]
    clients = [
        [rng.normal(size=2 * size).astype(dtype)[::2] for size, dtype in zip(sizes, types, strict=False)]
        for _ in range(7)
    ]
    clients[3][2] = clients[3][2].astype(np.float16)  # one of them sends halves
    clients[5] = [layer.copy() for layer in clients[5]]
    base = [np.full(layer.shape, 0.5, dtype=layer.dtype) for layer in clients[0]]
    for rows in (rows_of(clients), fitting(clients, base=base).rows):
        assert_same(*both(rows, 2, 3))
        assert_same(*both(replace(rows, explain=True), 2, 3))


@pytest.mark.parametrize("n_threads", [1, 3])
def test_the_number_of_threads_changes_no_bit(n_threads, monkeypatch):
    monkeypatch.setenv("HOLDFAST_THREADS", str(n_threads))
    sent = np.random.default_rng(0).normal(size=(9, 3 * CELL + 100)).astype(np.float32)
    assert_same(*both(rows_of(sent, explain=True), 2, 0))
    plain, *others = both(rows_of(sent), 2, 5)
    assert_same(plain, *others)
    assert plain.n_kept == (np.abs(np.sign(sent).sum(axis=0)) >= 5).sum()


@pytest.mark.parametrize("bad", [np.nan, -np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("at", [0, WIDTH - 1, WIDTH, CELL - 1, CELL, CELL + 76])
@pytest.mark.parametrize("explain", [False, True])
@pytest.mark.parametrize("are_loaded", [False, True])
def test_a_bad_value_is_found_and_so_is_who_sent_it(bad, at, explain, are_loaded, monkeypatch):
    monkeypatch.setattr(passes, "_are_loaded", lambda name: are_loaded)
    sent = np.zeros((6, CELL + 77), dtype=np.float32)
    sent[1, at] = sent[4, at] = bad
    _tiers.compile_now(Shape(6, 1, FLOAT32, is_masked=False, has_base=False, explain=explain))
    with pytest.raises(NonFiniteError) as caught:
        kernels.trimmed_mean(rows_of(sent, explain=explain), n_trimmed=1)
    assert caught.value.rows == (1, 4)


def test_a_model_whose_difference_from_the_base_overflows_is_found():
    largest = np.finfo(np.float32).max
    sent = np.full((5, WIDTH), 1.0, dtype=np.float32)
    sent[2, 7] = largest
    _tiers.compile_now(Shape(5, 1, FLOAT32, is_masked=False, has_base=True))
    rows = replace(rows_of(sent), base=(np.full(WIDTH, -largest, dtype=np.float32),))
    with pytest.raises(NonFiniteError) as caught:
        kernels.trimmed_mean(rows, n_trimmed=1)
    assert caught.value.rows == (2,)


def test_what_a_half_cannot_hold_is_found_in_a_layer_of_halves_sent_as_singles():
    base = [np.zeros(WIDTH, dtype=np.float16)]
    sent = [[np.full(WIDTH, 1.0 + client, dtype=np.float32)] for client in range(5)]
    sent[3][0][5] = 70_000.0
    _tiers.compile_now(Shape(5, 1, FLOAT32, is_masked=False, has_base=False))
    rows = replace(fitting([[base[0]], *sent], base=base).rows.select(range(1, 6)), base=None)
    with pytest.raises(NonFiniteError) as caught:
        kernels.trimmed_mean(rows, n_trimmed=1)
    assert caught.value.rows == (4,)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("has_base", [False, True])
@pytest.mark.parametrize("explain", [False, True])
def test_a_weighted_sum_has_the_bits_of_the_loops(dtype, has_base, explain):
    rng = np.random.default_rng(0)
    rows = rows_of(strange(rng, 7, 3 * WIDTH + 5, dtype), explain=explain)
    if has_base:
        rows = replace(rows, base=(rng.normal(size=rows.dim).astype(dtype),))
    weights = rng.normal(size=7)
    weights[2] = 0.0
    found = on_all_ways(shape_of(rows, is_sum=True), lambda: kernels.combine(rows, weights))
    for sums in found[1:]:
        assert sums.update.tobytes() == found[0].update.tobytes()
        assert sums.n_kept == found[0].n_kept
        if explain:
            assert sums.clients.dots.tobytes() == found[0].clients.dots.tobytes()
            assert sums.clients.opposed.tobytes() == found[0].clients.opposed.tobytes()
            assert sums.clients.trimmed is None


def test_without_loops_it_is_called_from_python_and_numba_is_not_imported():
    code = """
import sys
import numpy as np
import holdfast
sent = [[np.full((40, 5), i, np.float32), np.full(77, i, np.float32)] for i in range(9)]
assert holdfast.median(sent).update[1][0] == 4
assert holdfast.fedavg(sent).update[0][0, 0] == 4
assert "numba" not in sys.modules
"""
    environment = {name: value for name, value in os.environ.items() if name != "HOLDFAST_STRAIGHT"}
    subprocess.run([sys.executable, "-c", code], env=environment, check=True, timeout=300)


@pytest.mark.parametrize(("at", "bad"), [((0, 5), (4,)), ((1, 5), ())])
def test_without_loops_each_layer_of_a_block_has_its_own_limit(at, bad, monkeypatch):
    monkeypatch.setattr(passes, "_are_loaded", lambda name: False)
    base = [np.zeros(60, dtype=np.float16), np.zeros(60, dtype=np.float32)]
    sent = [[np.full(60, 1.0 + client, dtype=np.float32) for _ in base] for client in range(5)]
    sent[3][at[0]][at[1]] = 70_000.0  # more than a half can hold
    rows = replace(fitting([base, *sent], base=base).rows.select(range(1, 6)), base=None)
    passing = [lambda: kernels.trimmed_mean(rows, n_trimmed=1), lambda: kernels.gram(rows)]
    for call in passing:
        if bad:
            with pytest.raises(NonFiniteError) as caught:
                call()
            assert caught.value.rows == bad
        else:
            call()


@pytest.mark.parametrize(("n_bytes", "n_registers"), REGISTERS)
@pytest.mark.parametrize("kind", [FLOAT32, FLOAT64])
def test_of_many_rows_every_line_of_a_later_block_is_asked_for_about_once(kind, n_bytes, n_registers):
    text = assembly(Shape(101, 25, kind, False, False), n_bytes=n_bytes, n_registers=n_registers)
    n_lines = 101 * WIDTH * (4 if kind == FLOAT32 else 8) // 64
    n_steps = WIDTH * (4 if kind == FLOAT32 else 8) // n_bytes
    assert (
        text.count('call void @"llvm.prefetch') == n_lines // n_steps + 101
    )  # and each row for itself, nearer


def test_many_rows_have_the_same_bits_for_any_number_of_threads(monkeypatch):
    rows = rows_of(np.random.default_rng(5).standard_normal((90, 2 * CELL + 77), dtype=np.float32))
    _tiers.compile_now(shape_of(rows, n_trimmed=22, is_masked=True))
    found = []
    for n_threads in ("1", "2", "5"):
        monkeypatch.setenv("HOLDFAST_THREADS", n_threads)
        found.append(kernels.trimmed_mean(rows, n_trimmed=22, n_votes=40))
    assert_same(*found)
