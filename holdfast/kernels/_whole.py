"""Compiled: products and weighted sums of rows of whole numbers of 16 bits, exact in float64.

A row at address 0 is all zeros; there are such rows because four are taken at a time.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._forms import PANEL
from ._machine import compiled, inner, view
from ._sums import tile

__all__ = ["products", "weighted_sums"]

Array = NDArray[Any]

WIDTH = 1024  # columns that are added up before the next ones


@inner
def fill(address: Any, start: int, width: int, panel: Array, at: int) -> None:
    """Fill the panel from `at` on with numbers of the row at the address."""
    into = np.uint64(at)
    if address == 0:
        for column in range(width):
            panel[into + np.uint64(column)] = 0.0
    else:
        numbers = view(address + np.uint64(2 * start), width, np.int16)
        for column in range(width):
            panel[into + np.uint64(column)] = numbers[column]


@compiled
def products(addresses: Array, dim: int, n_rows: int, first: int, like: Array, total: Array) -> None:
    """Add the products of the first `n_rows` with those that follow each, from row `first` on, to total."""
    n_all = len(addresses)
    panel = np.zeros(n_all * PANEL)
    for start in range(0, dim, PANEL):
        width = min(PANEL, dim - start)
        if width < PANEL:
            panel[:] = 0.0
        for row in range(n_all):
            fill(addresses[row], start, width, panel, row * PANEL)
        for i in range(0, n_rows, 4):
            for j in range(max(i, first), n_all, 4):
                tile(panel, i, j, like, total)


@compiled
def weighted_sums(addresses: Array, weights: Array, start: int, stop: int, sums: Array) -> None:
    """Fill columns start to stop of `sums` with the rows added up, each by its weight."""
    n_sums = len(weights)
    panel, added = np.empty(4 * WIDTH), np.empty((n_sums, WIDTH))
    x0, x1, x2, x3 = panel[:WIDTH], panel[WIDTH : 2 * WIDTH], panel[2 * WIDTH : 3 * WIDTH], panel[3 * WIDTH :]
    for at in range(start, stop, WIDTH):
        width = min(WIDTH, stop - at)
        added[:] = 0.0
        for row in range(0, len(addresses), 4):
            for i in range(4):
                fill(addresses[row + i], at, width, panel, i * WIDTH)
            for k in range(n_sums):
                w0, w1 = weights[k, row], weights[k, row + 1]
                w2, w3 = weights[k, row + 2], weights[k, row + 3]
                into = added[k]
                for c in range(width):
                    into[c] += (w0 * x0[c] + w1 * x1[c]) + (w2 * x2[c] + w3 * x3[c])
        sums[:, at : at + width] = added[:, :width]
