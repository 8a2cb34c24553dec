"""Rows of whole numbers of 16 bits: their products, and weighted sums of them.

Products of such numbers, and sums of some millions of them, are whole numbers that a float64 holds. So every
result is exact, and the same for any order of adding.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.threads import for_each, in_parts, n_shared

__all__ = ["Placed", "Wholes", "gram", "in_16_bits", "products", "weighted_sums"]

#: Rows of int16: a matrix, or an array of rows that each lie in a place of their own.
Wholes = NDArray[np.int16] | NDArray[np.object_]

#: Rows that a thread multiplies at a time, where there are too many for the caches.
N_ROWS, N_CACHED = 16, 128
#: A float32, because products of numbers of 16 bits are exact as well, added in one operation or two.
LIKE = np.empty(0, np.float32)


@dataclass(frozen=True, eq=False)
class Placed:
    """Where rows lie. To find out takes a while, of hundreds of rows that are asked for again and again.

    >>> rows = np.array([[1, 2], [3, 4]], dtype=np.int16)
    >>> gram(Placed.of(rows)[np.array([1])])
    array([[25.]])
    """

    addresses: NDArray[np.uint64]
    dim: int
    rows: Any  # must live as long

    @classmethod
    def of(cls, rows: "Wholes | Placed") -> "Placed":
        """Return where the rows are."""
        if isinstance(rows, Placed):
            return rows
        if rows.dtype != object:
            rows = np.ascontiguousarray(rows, dtype=np.int16)
        sizes = {row.size if row.dtype == np.int16 and row.flags.c_contiguous else -1 for row in rows}
        assert len(sizes) == 1, "rows must be of int16 and of one length"
        addresses = [row.__array_interface__["data"][0] for row in rows]
        return cls(np.array(addresses, np.uint64), sizes.pop(), rows)

    def __len__(self) -> int:
        """Return the number of rows."""
        return len(self.addresses)

    def __getitem__(self, chosen: Any) -> "Placed":
        """Return where these of the rows are."""
        return Placed(self.addresses[chosen], self.dim, self.rows)


def gram(rows: Wholes | Placed) -> NDArray[np.float64]:
    """Return the products of all pairs of rows.

    >>> gram(np.array([[1, 2], [3, 4]], dtype=np.int16))
    array([[ 5., 11.],
           [11., 25.]])
    """
    placed, n = Placed.of(rows), len(rows)
    found = np.zeros((n, n))

    def multiply(start: int) -> None:
        here = _multiplied(placed.addresses[start:], slice(0, placed.dim), n_rows=min(N_ROWS, n - start))
        found[start : start + len(here), start:] = here

    def multiply_all(columns: slice) -> None:
        parts.append(_multiplied(placed.addresses, columns, n_rows=n))

    parts: list[NDArray[np.float64]] = []
    if n > N_CACHED:
        for_each(multiply, range(0, n, N_ROWS))
    else:  # each row is read once
        in_parts(multiply_all, placed.dim)
        found = sum(parts, start=found)  # exact, and so the same in any order
    upper = np.triu(found)
    return np.asarray(upper + np.triu(upper, 1).T)


def products(rows: Wholes | Placed, others: Wholes | Placed) -> NDArray[np.float64]:
    """Return the products of all rows with all others.

    >>> products(np.array([[1, 2], [3, 5]], dtype=np.int16), np.array([[1, -1]], dtype=np.int16))
    array([[-1.],
           [-2.]])
    """
    placed, beside = Placed.of(rows), Placed.of(others)
    found = np.empty((len(rows), len(others)))
    n_rows = max(4, min(N_CACHED // 2, -(-len(rows) // n_shared())))

    def multiply(start: int) -> None:
        part = placed.addresses[start : start + n_rows]
        padding = np.zeros(-len(part) % 4, np.uint64)
        both, n_before = np.concatenate([part, padding, beside.addresses]), len(part) + len(padding)
        here = _multiplied(both, slice(0, placed.dim), n_rows=len(part), first=n_before)
        found[start : start + len(part)] = here[:, n_before:]

    for_each(multiply, range(0, len(rows), n_rows))
    return found


def weighted_sums(weights: NDArray[np.int16], rows: Wholes | Placed) -> NDArray[np.float64]:
    """Return sums of the rows, each times its weight: one sum per row of weights.

    >>> weighted_sums(np.array([[1, -1]], dtype=np.int16), np.array([[5, 6], [3, 3]], dtype=np.int16))
    array([[2., 3.]])
    """
    from ._whole import weighted_sums as add_up

    placed = Placed.of(rows)
    factors = np.pad(weights.astype(np.float64), ((0, -len(weights) % 4), (0, 0)))
    sums = np.empty((len(weights), placed.dim))

    def add(part: slice) -> None:
        add_up(placed.addresses, factors, part.start, part.stop, LIKE, sums)

    in_parts(add, placed.dim)
    return sums


def in_16_bits(rows: NDArray[np.float64]) -> tuple[NDArray[np.int16], NDArray[np.float64]]:
    """Return the rows as whole numbers, each scaled by its largest entry, and their squared lengths.

    >>> in_16_bits(np.array([[0.0, 2.0], [-0.5, 0.5]]))
    (array([[     0,  32767],
           [-32767,  32767]], dtype=int16), array([1.07367629e+09, 2.14735258e+09]))
    """
    from ._whole import in_16_bits as scale

    found, squares = np.empty(rows.shape, np.int16), np.empty(len(rows))
    in_parts(lambda part: scale(rows[part], found[part], squares[part]), len(rows))
    return found, squares


def _multiplied(
    addresses: NDArray[np.uint64], columns: slice, *, n_rows: int, first: int = 0
) -> NDArray[np.float64]:
    """Return the products of the first rows with those after them: of a pair, in one order at least."""
    from ._whole import products as multiply

    padded = np.append(addresses, np.zeros(-len(addresses) % 4, np.uint64))
    total = np.zeros((-(-n_rows // 4) * 4, len(padded)))
    multiply(padded, columns.start, columns.stop, len(total), first, LIKE, total)
    return np.asarray(total[:n_rows, : len(addresses)])
