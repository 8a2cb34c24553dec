"""Compiled: products and weighted sums of rows of whole numbers of 16 bits, exact in float64.

A row at address 0 is all zeros; there are such rows because four are taken at a time.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._lanes import add_product, eight_sum, eight_times, put, sums_at, take_pair
from ._machine import aligned_zeros, compiled, inner, larger, view

__all__ = ["in_16_bits", "products", "weighted_sums"]

Array = NDArray[Any]

WIDTH = 512  # columns that products are taken over before the next ones
NARROW = 256  # columns that are added up before the next ones: of hundreds of rows, they fit a cache
LARGEST = 2**15 - 1


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


@inner
def tile(panel: Array, i: int, j: int, like: Array, nothing: Array, total: Array) -> None:
    """Add the products of rows i to i + 4 with rows j to j + 4."""
    step = np.uint64(WIDTH)
    i0, j0 = np.uint64(i) * step, np.uint64(j) * step
    i1, i2, i3 = i0 + step, i0 + step + step, i0 + step + step + step
    j1, j2, j3 = j0 + step, j0 + step + step, j0 + step + step + step
    p00 = p01 = p02 = p03 = p10 = p11 = p12 = p13 = sums_at(nothing, np.uint64(0), like)
    p20 = p21 = p22 = p23 = p30 = p31 = p32 = p33 = sums_at(nothing, np.uint64(0), like)
    for column in range(0, WIDTH, 8):
        c = np.uint64(column)
        y0, y1 = take_pair(panel, j0 + c), take_pair(panel, j1 + c)
        y2, y3 = take_pair(panel, j2 + c), take_pair(panel, j3 + c)
        x = take_pair(panel, i0 + c)
        p00, p01 = add_product(p00, x, y0), add_product(p01, x, y1)
        p02, p03 = add_product(p02, x, y2), add_product(p03, x, y3)
        x = take_pair(panel, i1 + c)
        p10, p11 = add_product(p10, x, y0), add_product(p11, x, y1)
        p12, p13 = add_product(p12, x, y2), add_product(p13, x, y3)
        x = take_pair(panel, i2 + c)
        p20, p21 = add_product(p20, x, y0), add_product(p21, x, y1)
        p22, p23 = add_product(p22, x, y2), add_product(p23, x, y3)
        x = take_pair(panel, i3 + c)
        p30, p31 = add_product(p30, x, y0), add_product(p31, x, y1)
        p32, p33 = add_product(p32, x, y2), add_product(p33, x, y3)
    products = ((p00, p01, p02, p03), (p10, p11, p12, p13), (p20, p21, p22, p23), (p30, p31, p32, p33))
    for di in range(4):
        for dj in range(4):
            total[i + di, j + dj] += eight_sum(products[di][dj])


@compiled
def products(
    addresses: Array, start: int, stop: int, n_rows: int, first: int, like: Array, total: Array
) -> None:
    """Add the products, on some columns, of the first `n_rows` with those after each, from `first` on."""
    n_all = len(addresses)
    panel, nothing = aligned_zeros(n_all * WIDTH), np.zeros(8)
    for at in range(start, stop, WIDTH):
        width = min(WIDTH, stop - at)
        if width < WIDTH:
            panel[:] = 0.0
        for row in range(n_all):
            fill(addresses[row], at, width, panel, row * WIDTH)
        for i in range(0, n_rows, 4):
            for j in range(max(i, first), n_all, 4):
                tile(panel, i, j, like, nothing, total)


@inner
def add_rows(panel: Array, at: int, weights: Array, k: int, nothing: Array, like: Array, into: Array) -> None:
    """Set sixteen columns of four sums, from `at` on, to the rows of the panel added up by their weights."""
    a0 = a1 = b0 = b1 = c0 = c1 = d0 = d1 = sums_at(nothing, np.uint64(0), like)
    w0, w1, w2, w3 = weights[k], weights[k + 1], weights[k + 2], weights[k + 3]
    here, step, half = np.uint64(at), np.uint64(NARROW), np.uint64(8)
    for row in range(weights.shape[1]):
        x, y = take_pair(panel, here), take_pair(panel, here + half)
        w = eight_times(w0[row])
        a0, a1 = add_product(a0, w, x), add_product(a1, w, y)
        w = eight_times(w1[row])
        b0, b1 = add_product(b0, w, x), add_product(b1, w, y)
        w = eight_times(w2[row])
        c0, c1 = add_product(c0, w, x), add_product(c1, w, y)
        w = eight_times(w3[row])
        d0, d1 = add_product(d0, w, x), add_product(d1, w, y)
        here += step
    sums = ((a0, a1), (b0, b1), (c0, c1), (d0, d1))
    for one in range(4):
        put(into, np.uint64((k + one) * NARROW + at), sums[one][0])
        put(into, np.uint64((k + one) * NARROW + at) + half, sums[one][1])


@compiled
def weighted_sums(addresses: Array, weights: Array, start: int, stop: int, like: Array, sums: Array) -> None:
    """Fill columns start to stop of `sums` with the rows added up, each by its weight."""
    n_sums, n_rows = len(weights), len(addresses)
    panel, added, nothing = aligned_zeros(n_rows * NARROW), np.empty(n_sums * NARROW), np.zeros(8)
    for at in range(start, stop, NARROW):
        width = min(NARROW, stop - at)
        for row in range(n_rows):
            fill(addresses[row], at, width, panel, row * NARROW)
        for column in range(0, width, 16):
            for k in range(0, n_sums, 4):
                add_rows(panel, column, weights, k, nothing, like, added)
        for k in range(len(sums)):
            for column in range(width):
                sums[k, at + column] = added[k * NARROW + column]


@compiled
def in_16_bits(rows: Array, whole: Array, squares: Array) -> None:
    """Set whole to the rows scaled by their largest entries, and squares to their squared lengths."""
    for row in range(len(rows)):
        numbers, into, largest, square = rows[row], whole[row], 0.0, np.int64(0)
        for c in range(len(numbers)):
            largest = larger(largest, abs(numbers[c]))
        unit = largest if largest > 0 else 1.0
        for c in range(len(numbers)):
            into[c] = np.int16(np.rint(numbers[c] / unit * LARGEST))
        for c in range(len(numbers)):
            square += np.int64(into[c]) * np.int64(into[c])
        squares[row] = square
