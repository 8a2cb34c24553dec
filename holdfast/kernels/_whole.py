"""Compiled: products and weighted sums of rows of whole numbers of 16 bits, exact in float64.

A row at address 0 is all zeros; there are such rows because four are taken at a time.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._machine import compiled, inner, view
from ._sums import PANEL, tile

__all__ = ["products", "weighted_sums"]

Array = NDArray[Any]


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
def weighted_sums(addresses: Array, weights: Array, start: int, sums: Array) -> None:
    """Add the rows from column `start` on, each by its weight: one sum per row of `weights`."""
    n_sums, width = sums.shape
    panel = np.empty(4 * width)
    x0, x1, x2, x3 = panel[:width], panel[width : 2 * width], panel[2 * width : 3 * width], panel[3 * width :]
    for row in range(0, len(addresses), 4):
        for i in range(4):
            fill(addresses[row + i], start, width, panel, i * width)
        for k in range(n_sums):
            w0, w1, w2, w3 = weights[k, row], weights[k, row + 1], weights[k, row + 2], weights[k, row + 3]
            into = sums[k]
            for c in range(width):
                into[c] += (w0 * x0[c] + w1 * x1[c]) + (w2 * x2[c] + w3 * x3[c])
