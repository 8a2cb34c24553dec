"""Compiled: dot products of rows over a range of columns, in float64."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._blocks import WIDTH, clear, load, workspace
from ._forms import Source, Work
from ._machine import compiled, inner, inner_sums

__all__ = ["gram", "projections"]

Array = NDArray[Any]

PANEL = 1024  # columns that products are taken over before their lanes are added up


@inner_sums
def measure(rows: Array, n_rows: int, width: int, update: Array, squares: Array, dots: Array) -> None:
    """Add each row's squares and products with the update, in float64."""
    for row in range(n_rows):
        start = np.uint64(row * width)
        square = dot = 0.0
        for c in range(width):
            column = np.uint64(c)
            x = np.float64(rows[start + column])
            square += x * x
            dot += x * update[column]
        squares[row] += square
        dots[row] += dot


@inner_sums
def tile(panel: Array, i: int, j: int, total: Array) -> None:
    """Add the dot products of rows i to i + 4 with rows j to j + 4."""
    step = np.uint64(PANEL)
    i0, j0 = np.uint64(i) * step, np.uint64(j) * step
    i1, i2, i3 = i0 + step, i0 + step + step, i0 + step + step + step
    j1, j2, j3 = j0 + step, j0 + step + step, j0 + step + step + step
    p00 = p01 = p02 = p03 = p10 = p11 = p12 = p13 = 0.0
    p20 = p21 = p22 = p23 = p30 = p31 = p32 = p33 = 0.0
    for column in range(PANEL):
        c = np.uint64(column)
        x0, x1, x2, x3 = panel[i0 + c], panel[i1 + c], panel[i2 + c], panel[i3 + c]
        y0, y1, y2, y3 = panel[j0 + c], panel[j1 + c], panel[j2 + c], panel[j3 + c]
        p00, p01, p02, p03 = p00 + x0 * y0, p01 + x0 * y1, p02 + x0 * y2, p03 + x0 * y3
        p10, p11, p12, p13 = p10 + x1 * y0, p11 + x1 * y1, p12 + x1 * y2, p13 + x1 * y3
        p20, p21, p22, p23 = p20 + x2 * y0, p21 + x2 * y1, p22 + x2 * y2, p23 + x2 * y3
        p30, p31, p32, p33 = p30 + x3 * y0, p31 + x3 * y1, p32 + x3 * y2, p33 + x3 * y3
    products = ((p00, p01, p02, p03), (p10, p11, p12, p13), (p20, p21, p22, p23), (p30, p31, p32, p33))
    for di in range(4):
        for dj in range(4):
            total[i + di, j + dj] += products[di][dj]


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


@compiled
def gram(source: Source, beside: Array, start: int, stop: int, total: Array, bad: Array) -> None:
    """Add the dot products of all pairs of rows over columns start to stop; total is padded to fours."""
    work = workspace(source)
    panel = np.zeros(total.shape[0] * PANEL)
    for at in range(start, stop, PANEL):
        fill(source, beside, at, min(at + PANEL, stop), work, panel, bad)
        for i in range(0, total.shape[0], 4):
            for j in range(i, total.shape[0], 4):
                tile(panel, i, j, total)


@compiled
def projections(source: Source, beside: Array, start: int, stop: int, total: Array, bad: Array) -> None:
    """Add the squares of all rows to total[0], and their products with the last, beside, to total[1]."""
    work = workspace(source)
    n_all = total.shape[1]
    panel = np.zeros(n_all * PANEL)
    for at in range(start, stop, PANEL):
        fill(source, beside, at, min(at + PANEL, stop), work, panel, bad)
        measure(panel, n_all, PANEL, panel[(n_all - 1) * PANEL :], total[0], total[1])
