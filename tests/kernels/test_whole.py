"""Products of whole numbers against those of NumPy's integers: every digit."""

import numpy as np
import pytest

from holdfast.kernels import whole

SIZES = [(1, 1, 1), (3, 2, 5), (4, 4, 1024), (65, 13, 1025), (130, 4, 2047)]


def numbers(n, dim, seed=0):
    drawn = np.random.default_rng([n, dim, seed]).integers(-(2**15), 2**15, size=(n, dim))
    return drawn.astype(np.int16)


def apart(matrix):
    """Return the rows of a matrix, each in a place of its own."""
    rows = np.empty(len(matrix), object)
    for position, row in enumerate(matrix):
        rows[position] = row.copy()
    return rows


@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, apart], ids=["rows", "columns", "apart"])
@pytest.mark.parametrize(("n", "n_others", "dim"), SIZES)
def test_products_are_those_of_integers(n, n_others, dim, form):
    rows, others, weights = numbers(n, dim), numbers(n_others, dim, 1), numbers(n_others, n, 2)
    wide, other, factors = (part.astype(np.int64) for part in (rows, others, weights))
    np.testing.assert_array_equal(whole.gram(form(rows)), wide @ wide.T)
    np.testing.assert_array_equal(whole.products(form(rows), form(others)), wide @ other.T)
    np.testing.assert_array_equal(whole.weighted_sums(weights, form(rows)), factors @ wide)


def test_the_largest_numbers_on_many_columns_are_exact():
    rows = np.full((5, 70_000), -(2**15), dtype=np.int16)
    assert (whole.gram(rows) == 70_000 * 2**30).all()
    assert (whole.products(rows, rows) == 70_000 * 2**30).all()


@pytest.mark.parametrize("threads", ["1", "2", "4"])
def test_any_number_of_threads_finds_the_same(threads, monkeypatch):
    monkeypatch.setenv("HOLDFAST_THREADS", threads)
    rows = numbers(300, 3000)
    wide = rows.astype(np.int64)
    np.testing.assert_array_equal(whole.gram(rows), wide @ wide.T)
    np.testing.assert_array_equal(whole.weighted_sums(rows[:7, :300], rows), wide[:7, :300] @ wide)


def test_rows_of_unequal_length_or_type_are_never_read():
    for other in (np.zeros(3, np.int16), np.zeros(4, np.int32), np.zeros(8, np.int16)[::2]):
        rows = apart(numbers(2, 4))
        rows[1] = other
        with pytest.raises(AssertionError, match="one length"):
            whole.gram(rows)


@pytest.mark.parametrize("threads", ["1", "3"])
def test_numbers_are_scaled_by_the_largest_of_their_row(threads, monkeypatch):
    monkeypatch.setenv("HOLDFAST_THREADS", threads)
    rows = np.random.default_rng(0).normal(size=(13, 1001))
    rows[3], rows[4] = 0, 1e-310
    largest = np.abs(rows).max(axis=1, keepdims=True)
    expected = np.rint(rows / np.where(largest > 0, largest, 1.0) * 32767).astype(np.int16)
    found, squares = whole.in_16_bits(rows)
    np.testing.assert_array_equal(found, expected)
    np.testing.assert_array_equal(squares, (expected.astype(np.int64) ** 2).sum(axis=1))


def test_rows_whose_place_is_known_are_chosen_from():
    rows = numbers(20, 300)
    chosen = np.array([3, 0, 19])
    placed = whole.Placed.of(apart(rows))[chosen]
    np.testing.assert_array_equal(whole.gram(placed), whole.gram(rows[chosen]))
    np.testing.assert_array_equal(whole.products(placed, rows), whole.products(rows[chosen], rows))
