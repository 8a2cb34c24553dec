"""Passes over sums of the rows, which are made on the way: the same bits as of sums that lie in memory."""

from dataclasses import replace

import numpy as np
import pytest

from holdfast import kernels
from holdfast.errors import NonFiniteError
from holdfast.updates import rows_of
from holdfast.updates.rows import CELL

DIM = 2 * CELL + 300


def some_rows(dtype=np.float32, n=6, dim=DIM, **given):
    drawn = np.random.default_rng(3).normal(size=(n, dim)) + 0.2
    cut = dim // 3
    layers = [[row[:cut].reshape(1, cut).astype(dtype), row[cut:].astype(dtype)] for row in drawn]
    return replace(rows_of(layers), **given)


def weights(m=4, n=6):
    drawn = np.random.default_rng(4).dirichlet(np.ones(n), size=m)
    drawn[0] = np.eye(n)[2]
    return drawn


def sums(rows, mixing):
    """Return the sums as a matrix, made the slow way."""
    made = np.zeros((len(mixing), rows.dim))
    for own, row in zip(mixing.T, rows.block(0, rows.dim), strict=True):
        made += own[:, None] * row.astype(np.float64)
    return made.astype(rows.dtype)


PASSES = {
    "gram": lambda rows: kernels.gram(rows),
    "beside": lambda rows: kernels.gram(rows, beside=np.linspace(-1, 1, rows.dim, dtype=rows.dtype)),
    "norms": kernels.squared_norms,
    "trimmed": lambda rows: kernels.trimmed_mean(rows, n_trimmed=1, n_votes=2).update,
    "chosen": lambda rows: kernels.trimmed_mean_among(rows, np.array([3, 0, 2]), n_trimmed=1).update,
    "sum": lambda rows: kernels.combine(rows, np.array([0.5, 0.1, -0.2, 0.7])).update,
    "vote": lambda rows: kernels.vote(rows, step=0.1).update,
}


@pytest.mark.parametrize("name", PASSES)
@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
def test_a_pass_over_sums_has_the_bits_of_a_pass_over_a_matrix_of_them(name, dtype):
    rows, mixing = some_rows(dtype), weights()
    mixed, made = rows.mixed(mixing), sums(rows, mixing)
    np.testing.assert_array_equal(mixed.block(0, DIM), made)
    np.testing.assert_array_equal(PASSES[name](mixed), PASSES[name](rows_of(made)))


@pytest.mark.parametrize("n_threads", [1, 2, 5])
def test_threads_change_nothing(n_threads, monkeypatch):
    rows = some_rows().mixed(weights())
    before = PASSES["gram"](rows), PASSES["trimmed"](rows)
    monkeypatch.setenv("HOLDFAST_THREADS", str(n_threads))
    np.testing.assert_array_equal(PASSES["gram"](rows), before[0])
    np.testing.assert_array_equal(PASSES["trimmed"](rows), before[1])


def test_models_with_a_base_are_mixed_as_updates():
    base = (np.full((1, DIM // 3), 0.5, np.float32), np.full(DIM - DIM // 3, -2, np.float32))
    rows = some_rows(base=base)
    mixed = rows.mixed(weights())
    np.testing.assert_array_equal(PASSES["sum"](mixed), PASSES["sum"](rows_of(sums(rows, weights()))))


def test_sums_are_sliced_looked_up_selected_and_summed_again_as_rows_are():
    rows = some_rows(np.float64)
    mixed, made = rows.mixed(weights()), sums(rows, weights())
    where = np.array([0, 5, DIM // 3, DIM - 1])
    np.testing.assert_array_equal(mixed.at(where), made[:, where])
    np.testing.assert_array_equal(mixed.columns(7, CELL + 9).block(1, CELL), made[:, 8 : CELL + 7])
    np.testing.assert_array_equal(mixed.select([3, 1]).block(0, 9), made[[3, 1], :9])
    np.testing.assert_array_equal(np.asarray(mixed), made)
    assert len(mixed) == 4
    assert len(mixed.unmixed) == 6
    twice = mixed.mixed(weights(2, 4)).block(0, DIM)
    np.testing.assert_allclose(twice, weights(2, 4) @ made, rtol=1e-12, atol=1e-12)
    np.testing.assert_allclose(mixed.around(1).block(0, 50), made[:, :50] - made[1, :50], atol=1e-12)


@pytest.mark.parametrize("name", ["gram", "trimmed", "norms"])
def test_a_client_that_is_not_finite_is_refused_by_its_own_number(name):
    rows = some_rows()
    rows.arrays[4][1][123] = np.nan
    with pytest.raises(NonFiniteError) as caught:
        PASSES[name](rows.mixed(weights()))
    assert caught.value.rows == (4,)
    with pytest.raises(NonFiniteError) as caught:
        PASSES[name](rows.select([5, 4, 1]).mixed(np.full((4, 3), 1 / 3)))
    assert caught.value.rows == (4,)


def test_who_has_a_part_in_a_sum_that_overflows_is_refused():
    rows = rows_of(np.array([[3e38, 0], [3e38, 0], [1, 1]], dtype=np.float32))
    with pytest.raises(NonFiniteError) as caught, np.errstate(over="ignore"):
        kernels.gram(rows.mixed(np.array([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])))
    assert caught.value.rows == (0, 1)


def test_many_sums_are_multiplied_without_making_them_again_for_each_pair():
    rows = some_rows(np.float64, n=5, dim=40)
    mixing = np.random.default_rng(0).dirichlet(np.ones(5), size=300)
    np.testing.assert_allclose(kernels.gram(rows.mixed(mixing)), sums(rows, mixing) @ sums(rows, mixing).T)
