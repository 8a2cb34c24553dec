"""The mean of the values closest to the median, held to a slow twin."""

import numpy as np
import pytest

from holdfast import kernels
from holdfast.updates import rows_of


def nearest_mean(values, n_near):
    """Return the mean of those closest to the median: halfway between that with lower and with upper ones."""
    rising, means = np.sort(values.astype(np.longdouble)), []
    for ordered in (rising, rising[::-1]):
        away = np.abs(ordered - np.median(ordered))
        means.append(ordered[np.argsort(away, kind="stable")[:n_near]].mean())
    return np.mean(means)


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(("n", "n_trimmed"), [(1, 0), (2, 0), (3, 1), (7, 2), (12, 3), (12, 5)])
def test_is_the_mean_of_those_closest_to_the_median(n, n_trimmed, dtype):
    rng = np.random.default_rng(n)
    updates = (rng.standard_cauchy(size=(n, 300)) + rng.normal(size=300)).astype(dtype)
    updates[:, :40] = rng.integers(-2, 3, size=(n, 40))  # many ties
    seen = kernels.nearest_mean_among(rows_of(updates), np.arange(n), n_trimmed=n_trimmed)
    expected = [nearest_mean(column, n - 2 * n_trimmed) for column in updates.T]
    np.testing.assert_allclose(seen.update, np.array(expected, dtype=seen.update.dtype), rtol=1e-6)


def test_only_the_chosen_have_a_say_and_all_are_measured():
    updates = np.array([[0.0, 9], [1, 1], [2, 2], [3, 3], [4, 8], [50, 0], [1.5, 2.5]])
    chosen = np.array([1, 2, 3, 4, 5])
    seen = kernels.nearest_mean_among(rows_of(updates, explain=True), chosen, n_trimmed=1)
    # 1 2 3 4 50 -> 2 3 4; 1 2 3 8 0 -> 1 2 3
    np.testing.assert_array_equal(seen.update, [3, 2])
    np.testing.assert_array_equal(seen.clients.trimmed, [2, 1, 0, 0, 1, 2, 2])
    np.testing.assert_allclose(seen.clients.squares[:-1], (updates**2).sum(axis=1))
    plain = kernels.nearest_mean_among(rows_of(updates), chosen, n_trimmed=1)
    np.testing.assert_array_equal(plain.update, seen.update)


def test_no_sign_is_preferred():
    updates = np.array([[-1.0, -2.0], [-1.0, -1.0], [0.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    for sign in (1, -1):
        seen = kernels.nearest_mean_among(rows_of(sign * updates), np.arange(5), n_trimmed=1)
        # -1 -1 0 and 0 1 1; -1 0 1 and 0 1 1
        np.testing.assert_allclose(seen.update, [0, sign / 3], atol=1e-16)


def test_giants_neither_move_nor_overflow_it():
    updates = np.array([[-1e308], [1.0], [2.0], [3.0], [1e308]])
    assert kernels.nearest_mean_among(rows_of(updates), np.arange(5), n_trimmed=1).update == [2.0]
