"""Compiled: the weighted trimmed mean of each column, or its weighted median."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._blocks import WIDTH, clear, load, workspace
from ._columns import explain, write
from ._forms import Found, Made, Source, Weighing
from ._machine import compiled, inner, larger, smaller

__all__ = ["sweep"]

Array = NDArray[Any]


@inner
def sort(buffer: Array, units: Array, pairs: Array) -> None:
    """Put the rows of every column through the network, each value with the units of its row."""
    for pair in range(pairs.shape[0]):
        low, high = np.uint64(pairs[pair, 0] * WIDTH), np.uint64(pairs[pair, 1] * WIDTH)
        for c in range(WIDTH):
            column = np.uint64(c)
            x, y = buffer[low + column], buffer[high + column]
            v, w = units[low + column], units[high + column]
            is_turned = y < x
            buffer[low + column] = smaller(x, y)
            buffer[high + column] = larger(x, y)
            units[low + column] = w if is_turned else v
            units[high + column] = v if is_turned else w


@inner
def fill(rows: Array, plan: Weighing, ordered: Array, units: Array) -> None:
    """Copy the rows, and give each value the units of its row."""
    for row in range(plan.units.size):
        start, own = np.uint64(row * WIDTH), plan.units[row]
        for c in range(WIDTH):
            ordered[start + np.uint64(c)] = rows[start + np.uint64(c)]
        for c in range(WIDTH):
            units[start + np.uint64(c)] = own


@inner
def find_edge(ordered: Array, units: Array, plan: Weighing, step: int, passed: Array, edge: Array) -> None:
    """Set the edge of each column to the first value from one end whose weight is not all trimmed away."""
    n_rows, most = plan.units.size, np.int32(plan.edge)
    clear(passed)
    for i in range(plan.n_edge + 1):
        start = np.uint64((i if step > 0 else n_rows - 1 - i) * WIDTH)
        if i >= plan.n_outside:
            for c in range(WIDTH):
                column = np.uint64(c)
                x, before = ordered[start + column], edge[column]
                edge[column] = x if passed[column] <= most else before
        for c in range(WIDTH):
            passed[c] += units[start + np.uint64(c)]


@inner
def trimmed_means(rows: Array, plan: Weighing, made: Made) -> None:
    """Set values to the weighted mean of what lies between the edges, which count with what is left of them.

    That is the mean of all rows with those outside moved to the edges, less what was trimmed away there.
    """
    values, low, high = made.values, made.low, made.high
    clear(values)
    for row in range(plan.shares.size):
        share, start = plan.shares[row], np.uint64(row * WIDTH)
        for c in range(WIDTH):
            column = np.uint64(c)
            moved = smaller(larger(rows[start + column], low[column]), high[column])
            values[column] += share * np.float64(moved)
    for c in range(WIDTH):
        first, last = np.float64(low[c]), np.float64(high[c])
        mean = (values[c] - plan.alpha * first - plan.alpha * last) / (1.0 - 2.0 * plan.alpha)
        values[c] = smaller(larger(mean, first), last)


@inner
def midpoints(made: Made) -> None:
    """Set values to the middle between the edges."""
    for c in range(WIDTH):
        first, last = np.float64(made.low[c]), np.float64(made.high[c])
        made.values[c] = smaller(larger((first + last) / 2.0, first), last)


@inner
def vote(rows: Array, plan: Weighing, votes: Array, is_kept: Array) -> None:
    """Keep a column if the weight on one side outweighs that on the other by enough."""
    clear(votes)
    if plan.n_votes > 0:
        for row in range(plan.units.size):
            weight, start = plan.units[row], np.uint64(row * WIDTH)
            for c in range(WIDTH):
                x = rows[start + np.uint64(c)]
                votes[c] += weight * (np.int32(x > 0) - np.int32(x < 0))
    for c in range(WIDTH):
        is_kept[c] = abs(votes[c]) >= plan.n_votes


@compiled
def sweep(source: Source, plan: Weighing, start: int, stop: int, cell: int, out: Array, found: Found) -> None:
    """Make one value of each column from start to stop, and measure the rows on the way if asked to."""
    work = workspace(source)
    ordered, units = np.empty(work.buffer.size, out.dtype), np.empty(work.buffer.size, np.int32)
    passed, low, high = np.empty(WIDTH, np.int32), np.empty(WIDTH, out.dtype), np.empty(WIDTH, out.dtype)
    made = Made(
        np.empty(WIDTH),
        np.empty(WIDTH, np.int32),
        np.empty(WIDTH, out.dtype),
        np.empty(WIDTH, out.dtype),
        np.empty(WIDTH, out.dtype),
        np.empty(0),
        np.empty(0),
    )
    for at in range(start, stop, WIDTH):
        width = min(WIDTH, stop - at)
        load(source, at, width, work, found.bad)
        fill(work.buffer, plan, ordered, units)
        sort(ordered, units, plan.pairs)
        find_edge(ordered, units, plan, 1, passed, low)
        find_edge(ordered, units, plan, -1, passed, high)
        for c in range(WIDTH):  # of a median, the edges may have passed one another
            made.low[c], made.high[c] = smaller(low[c], high[c]), larger(low[c], high[c])
        if plan.alpha < 0.5:
            trimmed_means(work.buffer, plan, made)
        else:
            midpoints(made)
        vote(work.buffer, plan, passed, made.is_kept)
        found.kept[0] += write(plan, made, out, at, width)
        if plan.explain:
            explain(work.buffer, work.signs, at, width, at // cell - start // cell, out, made, found)
