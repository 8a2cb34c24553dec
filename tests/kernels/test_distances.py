"""Manhattan distances of all pairs, against NumPy's."""

import numpy as np
import pytest

from holdfast import kernels
from holdfast.defending.screening import fitting
from holdfast.errors import NonFiniteError
from holdfast.updates import rows_of
from holdfast.updates.rows import CELL


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(("n", "dim"), [(1, 3), (2, 1), (5, 1030), (7, CELL + 1025)])
def test_distances_are_numpys(n, dim, dtype):
    rows = np.random.default_rng(n).normal(size=(n, dim)).astype(dtype)
    wide = rows.astype(np.float64)
    expected = np.array([np.abs(wide - row).sum(axis=1) for row in wide])
    np.testing.assert_allclose(kernels.manhattan(rows_of(rows)), expected, rtol=1e-12)
    base = fitting(list(rows), base=np.ones(dim, dtype)).rows
    np.testing.assert_allclose(kernels.manhattan(base), expected, rtol=1e-2 if dtype == np.float16 else 1e-5)


def test_threads_change_no_bit(monkeypatch):
    rows = rows_of(np.random.default_rng(0).normal(size=(6, 9 * CELL)).astype(np.float32))
    monkeypatch.setenv("HOLDFAST_THREADS", "1")
    one = kernels.manhattan(rows)
    monkeypatch.setenv("HOLDFAST_THREADS", "3")
    np.testing.assert_array_equal(kernels.manhattan(rows), one)


def test_rows_that_are_the_same_are_at_distance_zero_and_a_bad_one_is_named():
    rows = np.tile(np.random.default_rng(1).normal(size=5000), (3, 1))
    np.testing.assert_array_equal(kernels.manhattan(rows_of(rows)), np.zeros((3, 3)))
    rows[1, 4000] = np.nan
    with pytest.raises(NonFiniteError, match="row 1"):
        kernels.manhattan(rows_of(rows))
