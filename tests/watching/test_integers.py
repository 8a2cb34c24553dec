"""Products of 16-bit rows against NumPy's integers: every digit."""

import numpy as np
import pytest

from holdfast.watching import integers


def numbers(n, dim, seed=0):
    drawn = np.random.default_rng([n, dim, seed]).integers(-(2**15), 2**15, size=(n, dim))
    return drawn.astype(np.int16)


def apart(matrix):
    """Copy each row of a matrix to its own place in memory."""
    rows = np.empty(len(matrix), object)
    for position, row in enumerate(matrix):
        rows[position] = row.copy()
    return rows


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, apart], ids=["rows", "columns", "apart"])
@pytest.mark.parametrize(("n", "n_others", "dim"), [(1, 1, 1), (3, 2, 5), (65, 13, 1025), (1030, 4, 70)])
def test_products_are_those_of_integers(n, n_others, dim, form):
    rows, others, weights = numbers(n, dim), numbers(n_others, dim, 1), numbers(n_others, n, 2)
    wide, other, factors = (part.astype(np.int64) for part in (rows, others, weights))
    np.testing.assert_array_equal(integers.gram(form(rows)), wide @ wide.T)
    np.testing.assert_array_equal(integers.products(form(rows), form(others)), wide @ other.T)
    np.testing.assert_array_equal(integers.weighted_sums(weights, form(rows)), factors @ wide)


def test_the_largest_numbers_on_many_columns_are_exact():
    rows = np.full((5, 70_000), -(2**15), dtype=np.int16)
    assert (integers.gram(rows) == 70_000 * 2**30).all()


def test_rows_are_scaled_by_their_largest_entry():
    rows = np.random.default_rng(0).normal(size=(13, 1001))
    rows[3], rows[4] = 0, 1e-310
    scaled, squares = integers.rounded(rows)
    largest = np.abs(rows).max(axis=1)
    assert (np.abs(scaled).max(axis=1) == 32767 * (largest > 0)).all()
    np.testing.assert_allclose(scaled[0], rows[0] / largest[0] * 32767, atol=0.5)
    np.testing.assert_array_equal(squares, (scaled.astype(np.int64) ** 2).sum(axis=1))
