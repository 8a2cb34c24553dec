"""Compiled: how far numbers lie from a middle, in units and cut off, and what is remembered of it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._machine import compiled, inlined, inner

__all__ = ["blend", "lengths"]

Array = NDArray[Any]

WIDTH = 256  # columns that are worked on at a time: they fit the nearest cache


@inlined
def cut_off(value: Any, middle: Any, unit: float, cut: float) -> Any:
    """Return the deviation of one number."""
    return min(max((np.float64(value) - np.float64(middle)) / unit, -cut), cut)


@compiled
def lengths(values: Array, middle: Array, unit: Array, cuts: Array, found: Array) -> None:
    """Set found, [cut, row], to the lengths of rows of deviations.

    Each square is added up in the order of the columns, but those of eight rows side by side: a sum waits for
    its last step, and eight need not wait for each other.
    """
    n, dim = values.shape
    far, squares = np.empty((8, WIDTH)), np.empty((8, WIDTH))
    for first in range(0, n, 8):
        found[:, first : first + 8] = 0.0
        for start in range(0, dim, WIDTH):
            stop = min(start + WIDTH, dim)
            for i in range(8):  # the last row again, where there are no eight
                row = values[min(first + i, n - 1), start:stop]
                deviate(row, middle[start:stop], unit[start:stop], far[i])
            for k in range(len(cuts)):
                for i in range(8):
                    square(far[i], stop - start, cuts[k], squares[i])
                add_squares(squares, stop - start, found[k, first : first + 8])
        for k in range(len(cuts)):
            for i in range(first, min(first + 8, n)):
                found[k, i] = np.sqrt(found[k, i])


@inner
def deviate(values: Array, middle: Array, unit: Array, far: Array) -> None:
    """Set far to the deviations of a row."""
    for c in range(len(values)):
        far[c] = (np.float64(values[c]) - np.float64(middle[c])) / unit[c]


@inner
def square(far: Array, width: int, cut: float, squares: Array) -> None:
    """Set squares to those of deviations that are cut off."""
    for c in range(width):
        short = min(max(far[c], -cut), cut)
        squares[c] = short * short


@inner
def add_squares(squares: Array, width: int, total: Array) -> None:
    """Add the squares of eight rows to their sums, of which there may be fewer, one after the other."""
    n = len(total)
    s0, s1, s2, s3 = total[0], total[min(1, n - 1)], total[min(2, n - 1)], total[min(3, n - 1)]
    s4, s5, s6, s7 = total[min(4, n - 1)], total[min(5, n - 1)], total[min(6, n - 1)], total[min(7, n - 1)]
    for c in range(width):
        s0, s1, s2, s3 = s0 + squares[0, c], s1 + squares[1, c], s2 + squares[2, c], s3 + squares[3, c]
        s4, s5, s6, s7 = s4 + squares[4, c], s5 + squares[5, c], s6 + squares[6, c], s7 + squares[7, c]
    sums = (s0, s1, s2, s3, s4, s5, s6, s7)
    for i in range(n):
        total[i] = sums[i]


@compiled
def blend(
    before: Array,
    values: Array,
    middle: Array,
    unit: Array,
    cut: float,
    factor: float,
    pace: float,
    after: Array,
) -> None:
    """Fill `after` with what was before, moved towards the row's deviations times the factor."""
    for c in range(len(values)):
        told, old = factor * cut_off(values[c], middle[c], unit[c], cut), np.float64(before[c])
        after[c] = np.int16(np.rint(old + pace * (told - old)))
