"""Sums of magnitudes, against NumPy's."""

import numpy as np
import pytest

from holdfast import kernels
from holdfast.defending.screening import fitting
from holdfast.errors import NonFiniteError
from holdfast.updates import rows_of
from holdfast.updates.rows import CELL


@pytest.mark.parametrize("dtype", [np.float16, np.float32, np.float64])
@pytest.mark.parametrize(("n", "dim"), [(1, 3), (2, 1), (5, 1030), (7, CELL + 1025)])
def test_sums_are_numpys(n, dim, dtype):
    rows = np.random.default_rng(n).normal(size=(n, dim)).astype(dtype)
    expected = np.abs(rows.astype(np.float64)).sum(axis=1)
    np.testing.assert_allclose(kernels.magnitudes(rows_of(rows)), expected, rtol=1e-12)
    base = fitting(list(rows), base=rows[0]).rows
    away = np.abs(rows.astype(np.float64) - rows[0]).sum(axis=1)
    np.testing.assert_allclose(kernels.magnitudes(base), away, rtol=1e-6)


def test_threads_change_no_bit(monkeypatch):
    rows = rows_of(np.random.default_rng(0).normal(size=(6, 9 * CELL)).astype(np.float32))
    monkeypatch.setenv("HOLDFAST_THREADS", "1")
    one = kernels.magnitudes(rows)
    monkeypatch.setenv("HOLDFAST_THREADS", "3")
    np.testing.assert_array_equal(kernels.magnitudes(rows), one)


def test_a_bad_row_is_named():
    rows = np.ones((3, 5000))
    rows[1, 4000] = np.nan
    with pytest.raises(NonFiniteError, match="row 1"):
        kernels.magnitudes(rows_of(rows))
