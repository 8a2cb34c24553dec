"""Exact products of rows of 16-bit integers, by any BLAS library.

Products of such numbers, and sums of some millions of them, are integers below 2^53, which a float64 holds
exactly. So the result has the same bits for any number of threads and any order of adding.
"""

import numpy as np
from numpy.typing import NDArray

#: A matrix, or an array of rows that each have their own place in memory.
IntegerRows = NDArray[np.int16] | NDArray[np.object_]
Floats = NDArray[np.float64]

LARGEST = 2**15 - 1
#: Rows that are converted to float64 at a time: 64 MB of the usual 16,384 columns.
N_CONVERTED = 512


def gram(rows: IntegerRows) -> Floats:
    """Multiply all pairs of rows.

    >>> gram(np.array([[1, 2], [3, 4]], dtype=np.int16))
    array([[ 5., 11.],
           [11., 25.]])
    """
    return products(rows, rows)


def products(rows: IntegerRows, others: IntegerRows) -> Floats:
    """Multiply every row with every other one.

    >>> products(np.array([[1, 2], [3, 5]], dtype=np.int16), np.array([[1, -1]], dtype=np.int16))
    array([[-1.],
           [-2.]])
    """
    columns = _as_floats(others).T
    starts = range(0, len(rows), N_CONVERTED)
    return np.concatenate([_as_floats(rows[start : start + N_CONVERTED]) @ columns for start in starts])


def weighted_sums(weights: NDArray[np.int16], rows: IntegerRows) -> Floats:
    """Add up the rows, once for each row of weights.

    >>> weighted_sums(np.array([[1, -1]], dtype=np.int16), np.array([[5, 6], [3, 3]], dtype=np.int16))
    array([[2., 3.]])
    """
    return np.asarray(weights.astype(np.float64) @ _as_floats(rows))


def rounded(rows: Floats) -> tuple[NDArray[np.int16], Floats]:
    """Round rows to 16 bits, each scaled by its largest entry, and measure their squared lengths.

    >>> rounded(np.array([[0.0, 2.0], [-0.5, 0.5]]))
    (array([[     0,  32767],
           [-32767,  32767]], dtype=int16), array([1.07367629e+09, 2.14735258e+09]))
    """
    largest = np.abs(rows).max(axis=1, keepdims=True)
    integers = np.rint(rows / np.where(largest > 0, largest, 1.0) * LARGEST)
    return integers.astype(np.int16), (integers**2).sum(axis=1)


def _as_floats(rows: IntegerRows) -> Floats:
    """Convert rows to one matrix of float64."""
    return np.array([*rows], dtype=np.float64)
