"""Weighted order statistics against their slow twins, and against those without weights."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import kernels
from holdfast.defending.screening import fitting
from holdfast.errors import NonFiniteError
from holdfast.kernels import weighted
from holdfast.kernels._blocks import WIDTH
from holdfast.updates import rows_of
from holdfast.updates.rows import CELL

from .. import naive_weighted
from .test_columns import TYPES, close, strange

WEIGHTS = [
    lambda rng, n: np.ones(n),
    lambda rng, n: rng.lognormal(0, 2, n),
    lambda rng, n: rng.integers(0, 4, n) + (np.arange(n) == 0),
    lambda rng, n: 1e6 * (np.arange(n) == n // 2) + 1,
]
rounds = {"n": st.integers(1, 24), "dim": st.integers(1, 2 * WIDTH), "seed": st.integers(0, 2**20)}


def some(n, dim, seed, dtype, kind):
    rng = np.random.default_rng(seed)
    counts = WEIGHTS[kind](rng, n)
    return strange(rng, n, dim, dtype), counts / counts.sum()


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: np.dtype(t).name)
@given(**rounds, kind=st.integers(0, 3), alpha=st.sampled_from([0.0, 0.1, 0.25, 1 / 3, 0.49]))
@settings(max_examples=25, deadline=None)
def test_weighted_trimmed_means_are_those_of_the_twin(dtype, n, dim, seed, kind, alpha):
    rows, shares = some(n, dim, seed, dtype, kind)
    got = weighted.trimmed_mean(rows_of(rows), shares, alpha=alpha).update.astype(dtype)
    wide = rows.astype(np.float64)
    twin = naive_weighted.weighted_trimmed_mean(wide, alpha, shares)
    largest = np.abs(wide).max(axis=0) if alpha == 0 else reach(wide, shares, alpha)
    assert close(got, twin, 32 * largest + 1e-300)


def reach(rows, shares, alpha):
    """Return the largest magnitude that the trimmed mean of each column can have."""
    order = np.argsort(rows, axis=0, kind="stable")
    values, own = np.take_along_axis(rows, order, axis=0), shares[order]
    ends = np.cumsum(own, axis=0)
    is_inside = (ends > alpha - 1e-6) & (ends - own < 1 - alpha + 1e-6)
    return np.where(is_inside, np.abs(values), 0).max(axis=0)


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: np.dtype(t).name)
@given(**rounds, kind=st.integers(0, 3))
@settings(max_examples=25, deadline=None)
def test_weighted_medians_are_those_of_the_twin(dtype, n, dim, seed, kind):
    rows, shares = some(n, dim, seed, dtype, kind)
    got = weighted.median(rows_of(rows), shares).update.astype(dtype)
    wide = rows.astype(np.float64)
    assert close(got, naive_weighted.weighted_median(wide, shares), np.abs(wide).min(axis=0))


@given(**rounds, kind=st.integers(0, 3), tau=st.sampled_from([0.0, 0.2, 0.5, 0.6, 1.0]))
@settings(max_examples=40, deadline=None)
def test_the_weighted_vote_is_that_of_the_twin(n, dim, seed, kind, tau):
    rows, shares = some(n, dim, seed, np.float32, kind)
    seen = weighted.trimmed_mean(rows_of(rows), shares, alpha=0.25, tau=tau)
    passes = naive_weighted.weighted_passes(rows, tau, shares)
    assert seen.n_kept == passes.sum()
    assert not seen.update[~passes].any()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(**rounds, k=st.integers(0, 9))
@settings(max_examples=25, deadline=None)
def test_with_equal_weights_it_is_what_it_is_without(dtype, n, dim, seed, k):
    rows = np.random.default_rng(seed).normal(size=(n, dim)).astype(dtype)
    k, equal = min(k, (n - 1) // 2), np.full(n, 1 / n)
    plain = kernels.trimmed_mean(rows_of(rows), n_trimmed=k)
    got = weighted.trimmed_mean(rows_of(rows), equal, alpha=k / n)
    np.testing.assert_allclose(
        got.update, plain.update, rtol=1e-6 if dtype == np.float32 else 1e-11, atol=1e-13
    )
    middle = kernels.trimmed_mean(rows_of(rows), n_trimmed=(n - 1) // 2)
    np.testing.assert_array_equal(weighted.median(rows_of(rows), equal).update, middle.update)


@pytest.mark.parametrize("n", [3, 7, 50, 333])
def test_as_much_weight_as_is_trimmed_has_no_effect_at_all(n):
    rng = np.random.default_rng(n)
    rows, shares = rng.normal(size=(n, 40)), rng.dirichlet(np.ones(n))
    far = rows.copy()
    far[: n // 3] = 1e300
    alpha = min(shares[: n // 3].sum(), 0.49)
    if alpha < 0.49:
        assert np.abs(weighted.trimmed_mean(rows_of(far), shares, alpha=alpha).update).max() < 10


@pytest.mark.parametrize("at", [0, WIDTH, CELL - 1, CELL + 76])
def test_a_bad_value_is_found_wherever_it_is(at):
    rows = np.zeros((6, CELL + 77), dtype=np.float32)
    rows[1, at] = rows[4, at] = np.nan
    with pytest.raises(NonFiniteError) as caught:
        weighted.median(rows_of(rows), np.full(6, 1 / 6))
    assert caught.value.rows == (1, 4)


def test_models_of_many_types_with_a_base_are_read_as_their_updates_are():
    rng = np.random.default_rng(0)
    sizes = [3, 0, 1, 150, 2, 5, 129, 1]
    clients = [
        [rng.integers(-9, 9, size).astype(TYPES[i % 3]) for i, size in enumerate(sizes)] for _ in range(7)
    ]
    base = [np.full(layer.shape, 0.5, dtype=layer.dtype) for layer in clients[0]]
    flat = np.array([np.concatenate([layer.astype(np.float32) for layer in client]) for client in clients])
    shares = rng.dirichlet(np.ones(7))
    got = weighted.trimmed_mean(fitting(clients, base=base).rows, shares, alpha=0.2).update
    expected = weighted.trimmed_mean(rows_of(flat - np.float32(0.5)), shares, alpha=0.2).update
    np.testing.assert_array_equal(got, expected)


def test_who_lies_outside_the_range_that_is_averaged_is_counted_as_trimmed():
    rows = rows_of(np.array([[0.0, 9.0], [1.0, 2.0], [2.0, 3.0], [9.0, 1.0]]), explain=True)
    seen = weighted.trimmed_mean(rows, np.array([0.2, 0.3, 0.3, 0.2]), alpha=0.2)
    assert seen.clients.trimmed.tolist() == [2, 0, 0, 2]
    assert weighted.median(rows, np.full(4, 0.25)).clients.trimmed.tolist() == [2, 0, 0, 2]


def test_the_largest_doubles_do_not_overflow():
    top = np.finfo(np.float64).max
    rows = rows_of(np.array([[top, top], [top, -top], [top, top]]))
    np.testing.assert_array_equal(weighted.median(rows, np.full(3, 1 / 3)).update, [top, top])
    assert np.isfinite(weighted.trimmed_mean(rows, np.full(3, 1 / 3), alpha=0.1).update).all()
