"""Where numbers belong in their order, against NumPy's sort."""

import numpy as np
import pytest
from numba import njit

from holdfast.kernels._orders import deal_out, put_in_order, ranked


@njit
def rank(values, ranks):
    return ranked(values, ranks)


@njit
def deal(values, order):
    total = deal_out(values, order, np.empty(len(values), np.int64))
    return total, put_in_order(order, values)


def drawn(kind, n):
    rng = np.random.default_rng([n])
    return {
        "distinct": rng.normal(size=n),
        "falling": -np.arange(n) * 0.1,
        "heavy": rng.normal(size=n) ** 5,
        "large": rng.normal(size=n) * 1e300,
        "tiny": rng.random(n) * 1e-310,
    }[kind]


KINDS = ["distinct", "falling", "heavy", "large", "tiny"]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n", [2, 3, 5, 64, 257])
def test_ranks_are_those_of_a_sort(kind, n):
    values, ranks = drawn(kind, n), np.full(n, 7)
    total, is_distinct = rank(values, ranks)
    assert is_distinct
    assert total == np.cumsum(values)[-1]
    np.testing.assert_array_equal(ranks, np.argsort(np.argsort(values)))


@pytest.mark.parametrize("kind", KINDS[:3])
@pytest.mark.parametrize("n", [2, 3, 5, 64, 2000])
def test_numbers_are_dealt_out_in_order(kind, n):
    values, order = drawn(kind, n), np.arange(n)
    total, is_quick = deal(values, order)
    assert total == np.cumsum(values)[-1]
    assert sorted(order) == list(range(n))
    if is_quick:
        np.testing.assert_array_equal(order, np.argsort(values))
    assert is_quick or kind == "heavy"  # of which most lie close together


@pytest.mark.parametrize("odd", [1.0, np.nan], ids=["equal", "no number"])
def test_numbers_without_an_order_are_told(odd):
    values = np.array([3.0, 1.0, 2.0, odd, 5.0])
    assert not rank(values, np.zeros(5, np.int64))[1]
    assert not deal(values, np.arange(5))[1]


@pytest.mark.parametrize("odd", [np.inf, -np.inf, 1e308])
def test_numbers_that_no_step_can_count_keep_within_bounds(odd):
    values, order = np.array([3.0, -1e308, 2.0, odd, 5.0]), np.arange(5)
    deal(values, order)
    assert sorted(order) == list(range(5))
