"""Compiled: one value from each column, and what each row did in it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._blocks import WIDTH, clear, layer_at, load, workspace
from ._forms import FLOAT32, FLOAT64, LANES, NEAREST, RATIO, SUM, VOTE, Found, Made, Plan, Source, Work
from ._lanes import add_product, lane_sum, take, zeros
from ._machine import compiled, inner, larger, smaller, straight
from ._nearest import nearest_mean
from ._sums import measure

__all__ = ["sweep"]

Array = NDArray[Any]


@inner
def sort(buffer: Array, pairs: Array) -> None:
    """Put the rows of every column through the network."""
    for pair in range(pairs.shape[0]):
        low, high = np.uint64(pairs[pair, 0] * WIDTH), np.uint64(pairs[pair, 1] * WIDTH)
        for c in range(WIDTH):
            column = np.uint64(c)
            x, y = buffer[low + column], buffer[high + column]
            buffer[low + column] = smaller(x, y)
            buffer[high + column] = larger(x, y)


@inner
def middle_mean(buffer: Array, first: int, last: int, values: Array) -> None:
    """Set values to the mean of rows first to last."""
    clear(values)
    for row in range(first, last):
        start = np.uint64(row * WIDTH)
        for c in range(WIDTH):
            column = np.uint64(c)
            values[column] += np.float64(buffer[start + column])
    for c in range(WIDTH):
        values[c] /= last - first


@inner
def middle_range(buffer: Array, first: int, last: int, low: Array, high: Array) -> None:
    """Set low and high to the range of rows first to last."""
    for row in range(first, last):
        start = np.uint64(row * WIDTH)
        for c in range(WIDTH):
            column = np.uint64(c)
            x = buffer[start + column]
            low[column] = x if row == first else smaller(low[column], x)
            high[column] = x if row == first else larger(high[column], x)


@inner
def stands_out(buffer: Array, n_rows: int, kappa: float, made: Made) -> None:
    """Keep a column if |mean| >= kappa times the standard deviation."""
    is_kept, mean, spread = made.is_kept, made.mean, made.spread
    clear(mean)
    clear(spread)
    for row in range(n_rows):
        for c in range(WIDTH):
            mean[c] += np.float64(buffer[row * WIDTH + c]) / n_rows
    for row in range(n_rows):
        for c in range(WIDTH):
            away = np.float64(buffer[row * WIDTH + c]) - mean[c]
            spread[c] += away * away
    for c in range(WIDTH):
        deviation = np.sqrt(spread[c] / (n_rows - 1))
        is_kept[c] = abs(mean[c]) >= kappa * deviation if deviation > 0 else mean[c] != 0


@inner
def weighted_sum(buffer: Array, plan: Plan, at: int, width: int, values: Array) -> None:
    """Set values to the weighted sum of the rows, and of the one beside them."""
    clear(values)
    for row in range(plan.weights.size):
        weight, start = plan.weights[row], np.uint64(row * WIDTH)
        for c in range(WIDTH):
            column = np.uint64(c)
            values[column] += weight * np.float64(buffer[start + column])
    if plan.beside.size > 0:
        for c in range(width):
            values[c] += plan.beside_weight * np.float64(plan.beside[at + c])


@inner
def aggregate(plan: Plan, work: Work, at: int, width: int, made: Made) -> None:
    """Make a value of each column of the block, and decide which the mask keeps."""
    if plan.mode == RATIO:
        stands_out(work.buffer, plan.n_used, plan.kappa, made)
    else:
        for c in range(WIDTH):
            made.is_kept[c] = abs(work.signs[c]) >= plan.n_votes
    if plan.mode == SUM:
        weighted_sum(work.buffer, plan, at, width, made.values)
    elif plan.mode == VOTE:
        for c in range(WIDTH):
            made.values[c] = plan.step * (np.float64(work.signs[c] > 0) - np.float64(work.signs[c] < 0))
    else:
        first, last = plan.n_trimmed, plan.n_used - plan.n_trimmed
        sort(work.buffer, plan.pairs)
        if plan.mode == NEAREST:
            nearest_mean(work.buffer, plan.n_used, last - first, made)
        else:
            middle_mean(work.buffer, first, last, made.values)
            if plan.needs_range:
                middle_range(work.buffer, first, last, made.low, made.high)
        if plan.needs_range:
            for c in range(WIDTH):
                low, high = np.float64(made.low[c]), np.float64(made.high[c])
                made.values[c] = smaller(larger(made.values[c], low), high)


@inner
def write(plan: Plan, made: Made, out: Array, at: int, width: int) -> Any:
    """Write the values into the result; return how many the mask kept."""
    values, is_kept = made.values, made.is_kept
    n_kept = np.int32(0)
    for c in range(width):
        column = np.uint64(c)
        n_kept += np.int32(is_kept[column])
        value = values[column] * (1.0 if is_kept[column] else plan.below)
        out[np.uint64(at) + column] = value + 0.0  # a plain zero, not -0.0
    return n_kept


@inner
def count_against(rows: Array, made: Made, found: Found) -> None:
    """Count in how many columns each row's sign is against the majority's, or its value out of range."""
    majority, low, high = made.majority, made.low, made.high
    for row in range(found.opposed.size):
        n_opposed = n_trimmed = np.int32(0)
        start = np.uint64(row * WIDTH)
        for c in range(WIDTH):
            column = np.uint64(c)
            x = rows[start + column]
            n_opposed += np.int32(x * majority[column] < 0)
            n_trimmed += np.int32(smaller(larger(x, low[column]), high[column]) != x)
        found.opposed[row] += n_opposed
        found.trimmed[row] += n_trimmed


@inner
def explain(
    original: Array, signs: Array, at: int, width: int, number: int, out: Array, made: Made, found: Found
) -> None:
    """Measure all rows of a block against its result in `out`; columns past the width count nowhere."""
    n_rows = found.opposed.size
    for c in range(WIDTH):
        made.majority[c] = np.int32(signs[c] > 0) - np.int32(signs[c] < 0)
        made.values[c] = out[at + c] if c < width else 0.0
    squares = zeros(original)
    for c in range(0, WIDTH, 4):
        x = take(made.values, np.uint64(c))
        squares = add_product(squares, x, x)
    found.squares[number, n_rows] += lane_sum(squares)
    for c in range(width):
        turn = np.uint64(c) & np.uint64(3)
        found.consistency[turn * np.uint64(n_rows + 1) + np.uint64(abs(signs[np.uint64(c)]))] += 1
    count_against(original, made, found)
    measure(original, n_rows, WIDTH, made.values, original, found.squares[number], found.dots[number])


@inner
def is_plain(source: Source, layer: int) -> bool:
    """Return whether a layer's numbers are all of the type to compute in: what straight code reads."""
    kind = FLOAT32 if source.limits.itemsize == 4 else FLOAT64
    for row in range(source.addresses.shape[1]):
        if source.kinds[layer, row] != kind:
            return False
    return source.base_kinds.size == 0 or source.base_kinds[layer] == kind


@inner
def address_of(array: Array) -> Any:
    """Return where an array lies."""
    return np.uint64(array.ctypes.data)


@inner
def go_straight(
    source: Source, plan: Plan, code: int, at: int, stop: int, number: int, out: Array, found: Found
) -> Any:
    """Let straight code work on a layer from `at` on; return where it stops, and if that far all is done."""
    layer = layer_at(source.offsets, at)
    while source.offsets[layer + 1] <= at:
        layer += 1
    n_columns = min(stop, source.offsets[layer + 1]) - at
    if plan.explain:  # rows are measured by whole blocks
        n_columns = n_columns // WIDTH * WIDTH
    if n_columns < LANES or not is_plain(source, layer):
        return at + WIDTH, False
    size = np.uint64(out.itemsize)
    skipped = np.uint64(at - source.offsets[layer]) * size
    measured = np.uint64(number if plan.explain else 0) * np.uint64(8 * (source.addresses.shape[1] + 1))
    given = (
        address_of(source.addresses[layer]),
        skipped,
        source.base_addresses[layer] + skipped if source.base_kinds.size > 0 else np.uint64(0),
        address_of(out) + np.uint64(at) * size,
        np.uint64(n_columns),
        np.uint64(plan.n_votes),
        address_of(plan.weights),
        address_of(found.squares) + measured,
        address_of(found.dots) + measured,
        address_of(found.opposed),
        address_of(found.trimmed),
        address_of(found.consistency),
    )
    n_kept = straight(np.uint64(code), np.float64(source.limits[layer]), given)
    if n_kept >= 0:
        found.kept[0] += n_kept
    return at + n_columns, n_kept >= 0  # else a value is too large, and it must be found out whose


@compiled
def sweep(
    source: Source, plan: Plan, code: int, start: int, stop: int, cell: int, out: Array, found: Found
) -> None:
    """Make one value of each column from start to stop, and measure the rows on the way if asked to.

    `code` is where straight code for these rows lies, or 0. It does what it can, the loops here the rest.
    """
    work = workspace(source)
    original = np.empty(work.buffer.size if plan.explain else 0, out.dtype)
    made = Made(
        np.empty(WIDTH),
        np.empty(WIDTH, np.int32),
        np.empty(WIDTH, out.dtype),
        np.empty(WIDTH, out.dtype),
        np.empty(WIDTH, out.dtype),
        np.empty(WIDTH),
        np.empty(WIDTH),
    )
    at = end = start
    while at < stop:
        if code != 0 and at >= end:
            last, number = min(stop, (at // cell + 1) * cell), at // cell - start // cell
            end, is_done = go_straight(source, plan, code, at, last, number, out, found)
            if is_done:
                at = end
                continue
        width = min(WIDTH, stop - at)
        load(source, at, width, work, found.bad)
        if plan.explain:  # sorting is in place
            for i in range(work.buffer.size):
                original[i] = work.buffer[i]
        aggregate(plan, work, at, width, made)
        found.kept[0] += write(plan, made, out, at, width)
        if plan.explain:
            explain(original, work.signs, at, width, at // cell - start // cell, out, made, found)
        at += WIDTH
