"""Compiled: how far rows agree in their signs, and the mean of those that have the elected sign."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._blocks import WIDTH, clear, load, workspace
from ._columns import explain, sort, write
from ._forms import Election, Found, Made, Source, Tally
from ._machine import compiled, inner, smaller

__all__ = ["concordance", "sweep"]

Array = NDArray[Any]

WORD = 64
N_WORDS = WIDTH // WORD


@inner
def n_ones(bits: Any) -> Any:
    """Return how many bits are set: in pairs, fours, eights, and then all."""
    bits = bits - ((bits >> np.uint64(1)) & np.uint64(0x5555555555555555))
    fours = np.uint64(0x3333333333333333)
    bits = (bits & fours) + ((bits >> np.uint64(2)) & fours)
    bits = (bits + (bits >> np.uint64(4))) & np.uint64(0x0F0F0F0F0F0F0F0F)
    bits = bits + (bits >> np.uint64(8))
    bits = bits + (bits >> np.uint64(16))
    return np.int64((bits + (bits >> np.uint64(32))) & np.uint64(0x7F))


@inner
def pack(rows: Array, n_rows: int, width: int, has_sign: Array, is_negative: Array) -> None:
    """Fill in a bit for each value of the block that is not zero, and one for each below zero."""
    for row in range(n_rows):
        for word in range(N_WORDS):
            some = below = np.uint64(0)
            for c in range(max(0, min(WORD, width - word * WORD))):
                x = rows[row * WIDTH + word * WORD + c]
                some |= np.uint64(x != 0) << np.uint64(c)
                below |= np.uint64(x < 0) << np.uint64(c)
            has_sign[row, word], is_negative[row, word] = some, below


@compiled
def concordance(source: Source, plan: Tally, start: int, stop: int, bad: Array, counts: Array) -> None:
    """Add the products of the signs of all pairs of rows, each pair in one order."""
    work = workspace(source)
    n_rows = counts.shape[0]
    has_sign = np.empty((n_rows, N_WORDS), np.uint64)
    is_negative = np.empty((n_rows, N_WORDS), np.uint64)
    for at in range(start, stop, WIDTH):
        width = min(WIDTH, stop - at)
        load(source, at, width, work, bad)
        pack(work.buffer, n_rows, width, has_sign, is_negative)
        for i in range(n_rows):
            for j in range(i, n_rows):
                for word in range(N_WORDS):
                    both = has_sign[i, word] & has_sign[j, word]
                    differ = (is_negative[i, word] ^ is_negative[j, word]) & both
                    counts[i, j] += n_ones(both) - 2 * n_ones(differ)


@inner
def elect(rows: Array, plan: Election, elected: Array) -> None:
    """Set each column's sign to that of the votes, which have the signs of their rows."""
    clear(elected)
    for row in range(plan.votes.size):
        own, first = plan.votes[row], np.uint64(row * WIDTH)
        for c in range(WIDTH):
            x = rows[first + np.uint64(c)]
            elected[c] += own * (np.int64(x > 0) - np.int64(x < 0))
    for c in range(WIDTH):
        elected[c] = np.int64(elected[c] > 0) - np.int64(elected[c] < 0)


@inner
def average(rows: Array, plan: Election, middle: Array, elected: Array, made: Made) -> None:
    """Set values to the mean of the clipped rows with the elected sign, clamped to the middle magnitude."""
    values, n_added = made.values, made.mean
    clear(values)
    clear(n_added)
    for row in range(plan.factors.size):
        first, factor, cutoff = np.uint64(row * WIDTH), plan.factors[row], plan.cutoffs[row]
        for c in range(WIDTH):
            x = rows[first + np.uint64(c)]
            if x * elected[c] > 0 and abs(x) >= cutoff:
                values[c] += smaller(abs(factor * np.float64(x)), np.float64(middle[c]))
                n_added[c] += 1.0
    for c in range(WIDTH):
        made.is_kept[c] = n_added[c] > 0
        values[c] = elected[c] * values[c] / max(n_added[c], 1.0)


@compiled
def sweep(source: Source, plan: Election, start: int, stop: int, cell: int, out: Array, found: Found) -> None:
    """Make one value of each column from start to stop, and measure the rows on the way if asked to."""
    work = workspace(source)
    n_rows = plan.votes.size
    magnitudes, elected = np.empty(work.buffer.size, out.dtype), np.empty(WIDTH, np.int64)
    made = Made(
        np.empty(WIDTH),
        np.empty(WIDTH, np.int32),
        np.zeros(WIDTH, out.dtype),
        np.zeros(WIDTH, out.dtype),
        np.empty(WIDTH, out.dtype),
        np.empty(WIDTH),
        np.empty(0),
    )
    for at in range(start, stop, WIDTH):
        width = min(WIDTH, stop - at)
        load(source, at, width, work, found.bad)
        for row in range(n_rows):
            for c in range(WIDTH):
                i = np.uint64(row * WIDTH + c)
                magnitudes[i] = abs(plan.factors[row] * np.float64(work.buffer[i]))
        sort(magnitudes, plan.pairs)
        elect(work.buffer, plan, elected)
        average(work.buffer, plan, magnitudes[(n_rows - 1) // 2 * WIDTH :], elected, made)
        found.kept[0] += write(plan, made, out, at, width)
        if plan.explain:
            explain(work.buffer, work.signs, at, width, at // cell - start // cell, out, made, found)
