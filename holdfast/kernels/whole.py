"""Rows of whole numbers of 16 bits: their products, and weighted sums of them.

Products of such numbers, and sums of some millions of them, are whole numbers that a float64 holds. So every
result is exact, and the same for any order of adding.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.threads import for_each, in_parts

__all__ = ["Wholes", "gram", "products", "weighted_sums"]

#: Rows of int16: a matrix, or an array of rows that each lie in a place of their own.
Wholes = NDArray[np.int16] | NDArray[np.object_]

#: Rows that a thread multiplies at a time.
N_ROWS = 16


def gram(rows: Wholes) -> NDArray[np.float64]:
    """Return the products of all pairs of rows.

    >>> gram(np.array([[1, 2], [3, 4]], dtype=np.int16))
    array([[ 5., 11.],
           [11., 25.]])
    """
    placed = _Placed.of(rows)
    found = np.zeros((len(rows), len(rows)))

    def multiply(start: int) -> None:
        here = _multiplied(placed.addresses[start:], placed.dim, n_rows=min(N_ROWS, len(rows) - start))
        found[start : start + len(here), start:] = here

    for_each(multiply, range(0, len(rows), N_ROWS))
    upper = np.triu(found)
    return np.asarray(upper + np.triu(upper, 1).T)


def products(rows: Wholes, others: Wholes) -> NDArray[np.float64]:
    """Return the products of all rows with all others.

    >>> products(np.array([[1, 2], [3, 5]], dtype=np.int16), np.array([[1, -1]], dtype=np.int16))
    array([[-1.],
           [-2.]])
    """
    placed, beside = _Placed.of(rows), _Placed.of(others)
    found = np.empty((len(rows), len(others)))

    def multiply(start: int) -> None:
        part = placed.addresses[start : start + N_ROWS]
        padding = np.zeros(-len(part) % 4, np.uint64)
        both = np.concatenate([part, padding, beside.addresses])
        here = _multiplied(both, placed.dim, n_rows=len(part), first=len(part) + len(padding))
        found[start : start + len(part)] = here[:, len(part) + len(padding) :]

    for_each(multiply, range(0, len(rows), N_ROWS))
    return found


def weighted_sums(weights: NDArray[np.int16], rows: Wholes) -> NDArray[np.float64]:
    """Return sums of the rows, each times its weight: one sum per row of weights.

    >>> weighted_sums(np.array([[1, -1]], dtype=np.int16), np.array([[5, 6], [3, 3]], dtype=np.int16))
    array([[2., 3.]])
    """
    from ._whole import weighted_sums as add_up

    placed, padding = _Placed.of(rows), -len(rows) % 4
    addresses = np.append(placed.addresses, np.zeros(padding, np.uint64))
    factors = np.pad(weights.astype(np.float64), ((0, 0), (0, padding)))
    sums = np.empty((len(weights), placed.dim))

    def add(part: slice) -> None:
        add_up(addresses, factors, part.start, part.stop, sums)

    in_parts(add, placed.dim)
    return sums


class _Placed(NamedTuple):
    """Where rows lie. They must live as long."""

    addresses: NDArray[np.uint64]
    dim: int
    rows: Any

    @classmethod
    def of(cls, rows: Wholes) -> "_Placed":
        if rows.dtype != object:
            rows = np.ascontiguousarray(rows, dtype=np.int16)
        sizes = {row.size if row.dtype == np.int16 and row.flags.c_contiguous else -1 for row in rows}
        assert len(sizes) == 1, "rows must be of int16 and of one length"
        addresses = [row.__array_interface__["data"][0] for row in rows]
        return cls(np.array(addresses, np.uint64), sizes.pop(), rows)


def _multiplied(
    addresses: NDArray[np.uint64], dim: int, *, n_rows: int, first: int = 0
) -> NDArray[np.float64]:
    """Return the products of the first rows with those after them: of a pair, in one order at least."""
    from ._whole import products as multiply

    padded = np.append(addresses, np.zeros(-len(addresses) % 4, np.uint64))
    total = np.zeros((-(-n_rows // 4) * 4, len(padded)))
    # Of a float32, because products of numbers of 16 bits are exact as well.
    multiply(padded, dim, len(total), first, np.empty(0, np.float32), total)
    return np.asarray(total[:n_rows, : len(addresses)])
