"""Compiled: the main directions of points, from their products."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._machine import compiled, inner

__all__ = ["leading_directions"]

Array = NDArray[Any]

#: What is left of a column that others span is no direction, if it is shorter by this factor.
DUST = 1e-10


@compiled
def leading_directions(gram: Array, basis: Array, n_steps: int) -> None:
    """Turn the columns of `basis` into the main directions of a Gram matrix, by subspace iteration."""
    n, k = basis.shape
    turned, columns = np.empty((n, k)), np.empty((k, n))
    for _ in range(n_steps):
        for i in range(n):
            row = turned[i]
            row[:] = 0.0
            for other in range(0, n - n % 4, 4):  # four at a time, added in order
                w0, w1, w2, w3 = gram[i, other], gram[i, other + 1], gram[i, other + 2], gram[i, other + 3]
                x0, x1, x2, x3 = basis[other], basis[other + 1], basis[other + 2], basis[other + 3]
                for j in range(k):
                    row[j] = (((row[j] + w0 * x0[j]) + w1 * x1[j]) + w2 * x2[j]) + w3 * x3[j]
            for other in range(n - n % 4, n):
                for j in range(k):
                    row[j] += gram[i, other] * basis[other, j]
        for j in range(k):
            for i in range(n):
                columns[j, i] = turned[i, j]
        make_orthonormal(columns)
        for i in range(n):
            for j in range(k):
                basis[i, j] = columns[j, i]


@inner
def make_orthonormal(columns: Array) -> None:
    """Take from each row what those before it span, and give it length 1, or 0 if nothing is left."""
    k, n = columns.shape
    longest = 0.0
    for j in range(k):
        column = columns[j]
        for before in range(j):
            other = columns[before]
            overlap = 0.0
            for i in range(n):
                overlap += other[i] * column[i]
            for i in range(n):
                column[i] -= overlap * other[i]
        square = 0.0
        for i in range(n):
            square += column[i] * column[i]
        length = np.sqrt(square)
        longest = max(longest, length)
        for i in range(n):
            column[i] = column[i] / length if length > DUST * longest else 0.0
