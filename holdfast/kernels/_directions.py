"""Compiled: the main directions of points, from their products.

Columns lie side by side, eight or sixteen to the registers, and each number is added up in the order of the
points: what a processor has of registers does not change a bit.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._lanes import add_product, eight_times, put, sums_at, take_pair
from ._machine import aligned_zeros, compiled, inner

__all__ = ["leading_directions"]

Array = NDArray[Any]

#: What is left of a column that others span is no direction, if it is shorter by this factor.
DUST = 1e-10
#: There are zeros beside the columns up to a multiple of this. Never changes a result.
LANES = 16


@compiled
def leading_directions(gram: Array, basis: Array, n_steps: int) -> None:
    """Turn the columns of `basis` into the main directions of a Gram matrix, by subspace iteration."""
    n, k = basis.shape
    width = -(-k // LANES) * LANES
    now, turned = aligned_zeros(n * width).reshape(n, width), aligned_zeros(n * width).reshape(n, width)
    nothing = np.zeros(width)
    now[:, :k] = basis
    for _ in range(n_steps):
        for start in range(0, width, 8):
            for i in range(0, n - n % 4, 4):
                turn_four(gram, now.ravel(), i, start, width, nothing, turned.ravel())
            for i in range(n - n % 4, n):
                turn_one(gram, now.ravel(), i, start, width, nothing, turned.ravel())
        make_orthonormal(turned, k, nothing)
        now, turned = turned, now
    basis[:] = now[:, :k]


@inner
def turn_four(gram: Array, basis: Array, i: int, start: int, width: int, nothing: Array, out: Array) -> None:
    """Set eight columns of rows i to i + 4 of `out` to those of the matrix product."""
    zero, step = np.uint64(0), np.uint64(width)
    s0 = s1 = s2 = s3 = sums_at(nothing, zero, nothing)
    r0, r1, r2, r3 = gram[i], gram[i + 1], gram[i + 2], gram[i + 3]
    at = np.uint64(start)
    for other in range(len(gram)):
        x = take_pair(basis, at)
        s0, s1 = add_product(s0, eight_times(r0[other]), x), add_product(s1, eight_times(r1[other]), x)
        s2, s3 = add_product(s2, eight_times(r2[other]), x), add_product(s3, eight_times(r3[other]), x)
        at += step
    into = np.uint64(i * width + start)
    put(out, into, s0)
    put(out, into + step, s1)
    put(out, into + step + step, s2)
    put(out, into + step + step + step, s3)


@inner
def turn_one(gram: Array, basis: Array, i: int, start: int, width: int, nothing: Array, out: Array) -> None:
    """Set eight columns of row i of `out` to those of the matrix product."""
    total, row = sums_at(nothing, np.uint64(0), nothing), gram[i]
    for other in range(len(gram)):
        total = add_product(
            total, eight_times(row[other]), take_pair(basis, np.uint64(other * width + start))
        )
    put(out, np.uint64(i * width + start), total)


@inner
def make_orthonormal(columns: Array, k: int, nothing: Array) -> None:
    """Take from each column what those before it span, and give it length 1, or 0 if nothing is left.

    A column that is done is taken from all that follow at once, their overlaps being added up side by side.
    """
    n, width = columns.shape
    overlaps, longest = np.zeros(width), 0.0
    for j in range(k):
        square = 0.0
        for i in range(n):
            square += columns[i, j] * columns[i, j]
        length = np.sqrt(square)
        longest = max(longest, length)
        is_direction = length > DUST * longest
        for i in range(n):
            columns[i, j] = columns[i, j] / length if is_direction else 0.0
        for start in range(j // LANES * LANES, width, LANES):
            overlap(columns.ravel(), n, j, start, width, nothing, overlaps)
        overlaps[: j + 1] = 0.0
        for start in range(j // LANES * LANES, width, LANES):
            take_away(columns.ravel(), n, j, start, width, overlaps)


@inner
def overlap(columns: Array, n: int, j: int, start: int, width: int, nothing: Array, overlaps: Array) -> None:
    """Set sixteen overlaps to those of column j with others."""
    low = high = sums_at(nothing, np.uint64(0), nothing)
    own, at, step, half = np.uint64(j), np.uint64(start), np.uint64(width), np.uint64(8)
    for _ in range(n):
        x = eight_times(columns[own])
        low, high = (
            add_product(low, x, take_pair(columns, at)),
            add_product(high, x, take_pair(columns, at + half)),
        )
        own += step
        at += step
    put(overlaps, np.uint64(start), low)
    put(overlaps, np.uint64(start + 8), high)


@inner
def take_away(columns: Array, n: int, j: int, start: int, width: int, overlaps: Array) -> None:
    """Take column j, times the overlap, from sixteen others."""
    low, high = take_pair(overlaps, np.uint64(start)), take_pair(overlaps, np.uint64(start + 8))
    own, at, step, half = np.uint64(j), np.uint64(start), np.uint64(width), np.uint64(8)
    for _ in range(n):
        x = eight_times(-columns[own])
        put(columns, at, add_product(sums_at(columns, at, columns), low, x))
        put(columns, at + half, add_product(sums_at(columns, at + half, columns), high, x))
        own += step
        at += step
