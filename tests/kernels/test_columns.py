"""The compiled sweep against its slow twins, on whatever numbers there are."""

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import fedavg, kernels
from holdfast.defending.screening import fitting
from holdfast.errors import NonFiniteError
from holdfast.kernels._blocks import WIDTH
from holdfast.updates import rows_of
from holdfast.updates.rows import CELL

from .. import naive

TYPES = [np.float16, ml_dtypes.bfloat16, np.float32, np.float64]


def strange(rng, n, dim, dtype):
    """Return rows with ties, zeros of both signs, denormals and values near the largest."""
    top = float(ml_dtypes.finfo(dtype).max)
    if dtype == np.float64:
        top /= 64  # so that the twin's sums of forty are finite
    tiny = float(ml_dtypes.finfo(dtype).smallest_subnormal)
    rows = rng.normal(size=(n, dim))
    kinds = rng.integers(0, 9, size=(n, dim))
    for kind, values in enumerate([0.0, -0.0, 1.0, -1.0, tiny, -3 * tiny, top, -top]):
        rows[kinds == kind] = values
    return rows.astype(dtype)


def close(got, expected, largest):
    """Whether both agree as well as float64 sums, rounded to the result's type, can."""
    step, tiny = (float(getattr(ml_dtypes.finfo(got.dtype), name)) for name in ("eps", "smallest_subnormal"))
    wide = got.astype(np.float64)
    return (np.abs(wide - expected) <= step * np.abs(expected) + 1e-14 * largest + tiny).all()


rounds = {"n": st.integers(1, 40), "dim": st.integers(1, 3 * WIDTH), "seed": st.integers(0, 2**20)}


@pytest.mark.parametrize("dtype", TYPES, ids=lambda t: np.dtype(t).name)
@given(**rounds, k=st.integers(0, 20), votes=st.integers(0, 41))
@settings(max_examples=40, deadline=None)
def test_trimmed_means_and_masks_are_those_of_the_twin(dtype, n, dim, seed, k, votes):
    rows = strange(np.random.default_rng(seed), n, dim, dtype)
    k = min(k, (n - 1) // 2)
    seen = kernels.trimmed_mean(rows_of(rows), n_trimmed=k, n_votes=votes)
    wide = rows.astype(np.float64)
    middle = np.sort(wide, axis=0)[k : n - k]
    passes = np.abs(naive.votes(wide)) >= votes
    twin = naive.middle_mean(wide, k) * passes
    got = seen.update.astype(dtype)
    assert close(got, twin, np.abs(middle).max(axis=0))
    assert seen.n_kept == passes.sum()
    assert (~passes | ((middle.min(axis=0) <= got) & (got <= middle.max(axis=0)))).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(**rounds)
@settings(max_examples=40, deadline=None)
def test_weighted_sums_and_votes_are_those_of_the_twin(dtype, n, dim, seed):
    rng = np.random.default_rng(seed)
    rows = strange(rng, n, dim, dtype)
    weights = rng.dirichlet(np.ones(n))
    got = kernels.combine(rows_of(rows), weights).update
    assert close(got, weights @ naive.wide(rows), np.abs(rows.astype(np.float64)).max(axis=0))
    votes = kernels.vote(rows_of(rows), step=0.5).update
    np.testing.assert_array_equal(votes, naive.sign_sgd(rows, 0.5))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(**{**rounds, "n": st.integers(2, 40)}, kappa=st.sampled_from([0.1, 0.3, 0.731]))
@settings(max_examples=40, deadline=None)
def test_mean_ratios_are_those_of_the_twin(dtype, n, dim, seed, kappa):
    rows = np.random.default_rng(seed).normal(size=(n, dim)).astype(dtype)
    rows[:, ::3] = 2.5
    got = kernels.mean_ratio_trimmed(rows_of(rows), n_trimmed=(n - 1) // 4, kappa=kappa).update
    np.testing.assert_allclose(
        got, naive.mean_variance_mask(rows, kappa, (n - 1) // 4 / n), rtol=1e-6, atol=1e-12
    )


@pytest.mark.parametrize(
    ("n", "dim"), [(1, 1), (2, WIDTH), (100, WIDTH + 1), (257, 5), (1000, 2 * WIDTH - 1)]
)
def test_any_number_of_clients_is_sorted(n, dim):
    rows = np.random.default_rng(n).normal(size=(n, dim)).astype(np.float32)
    got = kernels.trimmed_mean(rows_of(rows), n_trimmed=(n - 1) // 3).update
    middle = np.sort(rows, axis=0)[(n - 1) // 3 : n - (n - 1) // 3]
    np.testing.assert_allclose(got, middle.mean(axis=0, dtype=np.float64), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("dtype", [np.float16, ml_dtypes.bfloat16], ids=lambda t: np.dtype(t).name)
def test_every_half_is_read_exactly_and_no_other_is_let_through(dtype):
    every = np.arange(2**16, dtype=np.uint16).view(dtype)
    is_finite = np.isfinite(every.astype(np.float32))
    np.testing.assert_array_equal(fedavg(every[is_finite][None]).update, every[is_finite])
    for server in (dtype, np.float32):  # the limit is the server's type, not the client's
        for bad in every[~is_finite][::97]:
            with pytest.raises(NonFiniteError):
                fedavg([np.zeros(3, dtype=server), np.array([0, bad, 0], dtype=dtype)])


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("at", [0, WIDTH - 1, WIDTH, CELL - 1, CELL, CELL + 76])
def test_a_bad_value_is_found_wherever_it_is(bad, at):
    rows = np.zeros((6, CELL + 77), dtype=np.float32)
    rows[1, at] = rows[4, at] = bad
    for run in (
        lambda r: kernels.trimmed_mean(r, n_trimmed=1),
        lambda r: kernels.combine(r, np.ones(6)),
        lambda r: kernels.vote(r, step=1.0),
        lambda r: kernels.mean_ratio_trimmed(r, n_trimmed=1, kappa=1.0),
        kernels.gram,
        kernels.squared_norms,
        lambda r: kernels.projections(r, np.ones(r.dim)),
    ):
        with pytest.raises(NonFiniteError) as caught:
            run(rows_of(rows))
        assert caught.value.rows == (1, 4)


def test_a_block_may_hold_many_layers_of_many_types():
    rng = np.random.default_rng(0)
    clients = [
        [rng.normal(size=size).astype(TYPES[i % 3]) for i, size in enumerate([3, 0, 1, 150, 2, 5, 129, 1])]
        for _ in range(7)
    ]
    base = [np.full(layer.shape, 0.5, dtype=layer.dtype) for layer in clients[0]]
    flat = (
        np.array([np.concatenate([layer.astype(np.float32) for layer in client]) for client in clients]) - 0.5
    )
    got = kernels.trimmed_mean(fitting(clients, base=base).rows, n_trimmed=2).update
    np.testing.assert_array_equal(
        got, kernels.trimmed_mean(rows_of(flat.astype(np.float32)), n_trimmed=2).update
    )


def test_masked_coordinates_are_plain_zeros():
    update = kernels.trimmed_mean(rows_of(-np.ones((3, 4))), n_trimmed=0, n_votes=4).update
    assert not np.signbit(update).any()


def test_halves_are_read_right_where_the_processor_flushes_denormals():
    torch = pytest.importorskip("torch", reason="torch is not installed (pip install '.[sim]')")
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    halves = halves[np.isfinite(halves)]
    expected = halves.astype(np.float32)
    base = np.full(halves.size, 3e-5, np.float16)
    if not torch.set_flush_denormal(True):
        pytest.skip("this processor does not flush denormals")
    try:
        found = kernels.combine(rows_of([halves]), np.ones(1)).update
        moved = fedavg(fitting([base + base] * 3, base=base).rows).update
    finally:
        torch.set_flush_denormal(False)
    np.testing.assert_array_equal(found.astype(np.float32), expected)
    np.testing.assert_array_equal(moved, base)
