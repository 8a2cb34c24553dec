import itertools

import numpy as np
import pytest

from holdfast.kernels._network import comparators


def through(rows, pairs):
    for low, high in pairs:
        rows[low], rows[high] = np.minimum(rows[low], rows[high]), np.maximum(rows[low], rows[high])
    return rows


@pytest.mark.parametrize("n", range(1, 14))
def test_every_column_of_zeros_and_ones_keeps_its_middle(n):
    # What sorts all zeros and ones sorts everything.
    columns = np.array(list(itertools.product([0, 1], repeat=n))).T
    for k in range((n - 1) // 2 + 1):
        middle = through(columns.copy(), comparators(n, k))[k : n - k]
        np.testing.assert_array_equal(middle.sum(axis=0), np.sort(columns, axis=0)[k : n - k].sum(axis=0))


@pytest.mark.parametrize(("n", "k"), [(20, 5), (50, 24), (100, 25), (255, 3), (1000, 250), (1000, 499)])
def test_large_networks_keep_the_middle_too(n, k):
    rows = np.random.default_rng(n).normal(size=(n, 30))
    middle = np.sort(through(rows.copy(), comparators(n, k))[k : n - k], axis=0)
    np.testing.assert_array_equal(middle, np.sort(rows, axis=0)[k : n - k])


def test_what_cannot_change_the_middle_is_left_out():
    assert len(comparators(20, 5)) == 80
    assert len(comparators(100, 25)) == 904
    assert len(comparators(7, 0)) == 0
