"""Compiled: dot products of rows over a range of columns, in float64."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._blocks import WIDTH, clear, load, workspace
from ._forms import PANEL, Source, Work
from ._lanes import add, add_product, lane_sum, put, sums_at, take, take_pair, take_twice, zeros
from ._machine import compiled, inner

__all__ = ["gram", "measure", "projections"]

Array = NDArray[Any]

PART = 256  # columns of a panel that tiles take at a time. Never changes a result


@inner
def measure(
    rows: Array, n_rows: int, width: int, update: Array, like: Array, squares: Array, dots: Array
) -> None:
    """Add each row's squares and products with the update; the width is a multiple of 16."""
    for row in range(n_rows):
        start = np.uint64(row * width)
        s0 = s1 = s2 = s3 = d0 = d1 = d2 = d3 = zeros(like)
        for column in range(0, width, 16):
            c0 = np.uint64(column)
            c1, c2, c3 = c0 + np.uint64(4), c0 + np.uint64(8), c0 + np.uint64(12)
            x0, x1 = take(rows, start + c0), take(rows, start + c1)
            x2, x3 = take(rows, start + c2), take(rows, start + c3)
            s0, s1 = add_product(s0, x0, x0), add_product(s1, x1, x1)
            s2, s3 = add_product(s2, x2, x2), add_product(s3, x3, x3)
            d0, d1 = add_product(d0, x0, take(update, c0)), add_product(d1, x1, take(update, c1))
            d2, d3 = add_product(d2, x2, take(update, c2)), add_product(d3, x3, take(update, c3))
        squares[row] += lane_sum(add(add(s0, s1), add(s2, s3)))
        dots[row] += lane_sum(add(add(d0, d1), add(d2, d3)))


@inner
def tile(panel: Array, i: int, j: int, like: Array, total: Array) -> None:
    """Add the dot products of rows i to i + 4 with rows j to j + 4."""
    step = np.uint64(PANEL)
    i0, j0 = np.uint64(i) * step, np.uint64(j) * step
    i1, i2, i3 = i0 + step, i0 + step + step, i0 + step + step + step
    j1, j2, j3 = j0 + step, j0 + step + step, j0 + step + step + step
    p00 = p01 = p02 = p03 = p10 = p11 = p12 = p13 = zeros(like)
    p20 = p21 = p22 = p23 = p30 = p31 = p32 = p33 = zeros(like)
    for column in range(0, PANEL, 4):
        c = np.uint64(column)
        y0, y1, y2, y3 = take(panel, j0 + c), take(panel, j1 + c), take(panel, j2 + c), take(panel, j3 + c)
        x = take(panel, i0 + c)
        p00, p01 = add_product(p00, x, y0), add_product(p01, x, y1)
        p02, p03 = add_product(p02, x, y2), add_product(p03, x, y3)
        x = take(panel, i1 + c)
        p10, p11 = add_product(p10, x, y0), add_product(p11, x, y1)
        p12, p13 = add_product(p12, x, y2), add_product(p13, x, y3)
        x = take(panel, i2 + c)
        p20, p21 = add_product(p20, x, y0), add_product(p21, x, y1)
        p22, p23 = add_product(p22, x, y2), add_product(p23, x, y3)
        x = take(panel, i3 + c)
        p30, p31 = add_product(p30, x, y0), add_product(p31, x, y1)
        p32, p33 = add_product(p32, x, y2), add_product(p33, x, y3)
    products = ((p00, p01, p02, p03), (p10, p11, p12, p13), (p20, p21, p22, p23), (p30, p31, p32, p33))
    for di in range(4):
        for dj in range(4):
            total[i + di, j + dj] += lane_sum(products[di][dj])


@inner
def fill(source: Source, beside: Array, at: int, stop: int, work: Work, panel: Array, bad: Array) -> None:
    """Fill the panel with columns at to stop of the rows, and of the one beside them, in float64."""
    n_rows = source.addresses.shape[1]
    if stop - at < PANEL:
        clear(panel)
    for block in range(at, stop, WIDTH):
        width = min(WIDTH, stop - block)
        load(source, block, width, work, bad)
        for row in range(n_rows):
            into = np.uint64(row * PANEL + block - at)
            for c in range(width):
                panel[into + np.uint64(c)] = work.buffer[np.uint64(row * WIDTH + c)]
    for c in range(min(beside.size, stop - at)):
        panel[n_rows * PANEL + c] = beside[at + c]


@inner
def fill_in_pairs(
    source: Source, beside: Array, at: int, stop: int, work: Work, panel: Array, bad: Array
) -> None:
    """Fill the panel as `fill` does, but with the rows in pairs: four numbers of one, four of the other."""
    n_rows = source.addresses.shape[1]
    if stop - at < PANEL:
        clear(panel)
    for block in range(at, stop, WIDTH):
        width = min(WIDTH, stop - block)
        load(source, block, width, work, bad)
        for row in range(n_rows):
            start = np.uint64(row * WIDTH)
            into = np.uint64((row // 2 * PANEL + block - at) * 2 + row % 2 * 4)
            for c in range(0, width, 4):
                for lane in range(np.uint64(4)):
                    column = np.uint64(c) + np.uint64(lane)
                    panel[into + np.uint64(c) + column] = work.buffer[start + column]
    for c in range(min(beside.size, stop - at)):
        panel[(n_rows // 2 * PANEL + c // 4 * 4) * 2 + n_rows % 2 * 4 + c % 4] = beside[at + c]


@inner
def pair_tile(panel: Array, i: int, j: int, part: int, like: Array, sums: Array, at: Any) -> None:
    """Add the products of rows i to i + 4 with rows j to j + 4, over a part of a panel in pairs, to the sums.

    From `at` on there are eight times eight sums: of two rows with one, side by side, in lanes as in `tile`.
    """
    step, four = np.uint64(2 * PANEL), np.uint64(4)
    i0 = np.uint64(i // 2) * step + np.uint64(2 * part)
    j0 = np.uint64(j // 2) * step + np.uint64(2 * part)
    i2, j2 = i0 + step, j0 + step
    a1, a2, a3, b0 = at + np.uint64(8), at + np.uint64(16), at + np.uint64(24), at + np.uint64(32)
    b1, b2, b3 = b0 + np.uint64(8), b0 + np.uint64(16), b0 + np.uint64(24)
    p00, p01 = sums_at(sums, at, like), sums_at(sums, a1, like)
    p02, p03 = sums_at(sums, a2, like), sums_at(sums, a3, like)
    p20, p21 = sums_at(sums, b0, like), sums_at(sums, b1, like)
    p22, p23 = sums_at(sums, b2, like), sums_at(sums, b3, like)
    for column in range(0, 2 * PART, 8):
        c = np.uint64(column)
        y0, y1 = take_twice(panel, j0 + c), take_twice(panel, j0 + c + four)
        y2, y3 = take_twice(panel, j2 + c), take_twice(panel, j2 + c + four)
        x = take_pair(panel, i0 + c)
        p00, p01 = add_product(p00, x, y0), add_product(p01, x, y1)
        p02, p03 = add_product(p02, x, y2), add_product(p03, x, y3)
        x = take_pair(panel, i2 + c)
        p20, p21 = add_product(p20, x, y0), add_product(p21, x, y1)
        p22, p23 = add_product(p22, x, y2), add_product(p23, x, y3)
    put(sums, at, p00)
    put(sums, a1, p01)
    put(sums, a2, p02)
    put(sums, a3, p03)
    put(sums, b0, p20)
    put(sums, b1, p21)
    put(sums, b2, p22)
    put(sums, b3, p23)


@inner
def add_up(sums: Array, at: Any, i: int, j: int, total: Array) -> None:
    """Add the lanes of a tile to its products, and clear them."""
    for di in range(4):
        for dj in range(4):
            lanes = at + np.uint64((di // 2 * 4 + dj) * 8 + di % 2 * 4)
            total[i + di, j + dj] += lane_sum(take(sums, lanes))
    for k in range(64):
        sums[at + np.uint64(k)] = 0


@inner
def aligned_zeros(size: int) -> Array:
    """Return zeros that start with a line of the caches."""
    room = np.zeros(size + 8)
    return room[(64 - room.ctypes.data % 64) // 8 :]


@compiled
def gram(source: Source, beside: Array, start: int, stop: int, first: int, total: Array, bad: Array) -> None:
    """Add the dot products of pairs of rows over columns start to stop; total is padded to fours.

    Each of the first rows, as many as total has, is multiplied with those after it, from row `first` on.
    """
    n_first, n_all = total.shape
    work = workspace(source)
    panel, sums = aligned_zeros(n_all * PANEL), aligned_zeros(4 * n_first * (n_all - first))
    for at in range(start, stop, PANEL):
        fill_in_pairs(source, beside, at, min(at + PANEL, stop), work, panel, bad)
        for part in range(0, PANEL, PART):  # so that what tiles share stays in the nearest cache
            for i in range(0, n_first, 4):
                for j in range(max(i, first), n_all, 4):
                    place = np.uint64(4 * (i * (n_all - first) + 4 * (j - first)))
                    pair_tile(panel, i, j, part, source.limits, sums, place)
        for i in range(0, n_first, 4):
            for j in range(max(i, first), n_all, 4):
                add_up(sums, np.uint64(4 * (i * (n_all - first) + 4 * (j - first))), i, j, total)


@compiled
def projections(source: Source, beside: Array, start: int, stop: int, total: Array, bad: Array) -> None:
    """Add the squares of all rows to total[0], and their products with the last, beside, to total[1]."""
    work = workspace(source)
    n_all = total.shape[1]
    panel = np.zeros(n_all * PANEL)
    for at in range(start, stop, PANEL):
        fill(source, beside, at, min(at + PANEL, stop), work, panel, bad)
        measure(panel, n_all, PANEL, panel[(n_all - 1) * PANEL :], source.limits, total[0], total[1])
