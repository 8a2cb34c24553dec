"""Compiled: counts of each row's magnitudes, by their digits, and of those whose sign is the majority's."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._blocks import WIDTH, load, workspace
from ._forms import Source, Tally
from ._machine import compiled

__all__ = ["agreements", "digits"]

Array = NDArray[Any]


@compiled
def digits(source: Source, plan: Tally, start: int, stop: int, bad: Array, counts: Array) -> None:
    """Count the next digit, a few bits, of each row's magnitudes that begin with the bits given."""
    n_rows, n_digits = counts.shape
    work = workspace(source)
    bits = work.buffer.view(plan.given.dtype)
    one = plan.given.dtype.type(1)
    last, shift = plan.given.dtype.type(n_digits - 1), plan.given.dtype.type(plan.shift)
    sign = plan.given.dtype.type(8 * plan.given.itemsize - 1)
    for at in range(start, stop, WIDTH):
        width = min(WIDTH, stop - at)
        load(source, at, width, work, bad)
        for row in range(n_rows):
            for c in range(width):
                own = bits[row * WIDTH + c] & ((one << sign) - one)
                rest = own >> shift
                if (rest & ~last) == plan.given[row]:
                    counts[row, np.int64(rest & last)] += 1


@compiled
def agreements(source: Source, plan: Tally, start: int, stop: int, bad: Array, counts: Array) -> None:
    """Count where a row has the majority's sign: at magnitudes above the one given, and at those equal."""
    work = workspace(source)
    for at in range(start, stop, WIDTH):
        width = min(WIDTH, stop - at)
        load(source, at, width, work, bad)
        for row in range(counts.shape[0]):
            first, cutoff = np.uint64(row * WIDTH), plan.given[row]
            n_above = n_tied = np.int32(0)
            for c in range(width):
                x, votes = work.buffer[first + np.uint64(c)], work.signs[c]
                agrees = (np.int32(x > 0) - np.int32(x < 0)) == (np.int32(votes > 0) - np.int32(votes < 0))
                n_above += np.int32(agrees and abs(x) > cutoff)
                n_tied += np.int32(agrees and abs(x) == cutoff)
            counts[row, 0] += n_above
            counts[row, 1] += n_tied
