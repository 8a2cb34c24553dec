"""Rows that hold the same numbers: looked for in a few places first, and everywhere only where rows agree."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .layout import Unfit, widened
from .pieces import flat_piece
from .rows import CELL, Rows

__all__ = ["CopiedRows", "find_copies"]

#: Numbers that a look in memory takes in; of a file it takes whole cells, which its checksums are made of.
WIDTH = 64
#: Looks that are spread over the update, for updates of one large layer with frozen parts.
N_SPREAD = 16
#: Stands for the base where a row's number is expected.
BASE = -1

Piece = tuple[int, slice]  # a layer, and the part of it


class CopiedRows(NamedTuple):
    """Rows that hold the same numbers."""

    groups: tuple[tuple[int, ...], ...]  # two or more rows each, none of them unchanged
    unchanged: tuple[int, ...]  # rows that equal the base, or hold only zeros if there is none


def find_copies(rows: Rows) -> CopiedRows:
    """Find the rows that hold the same numbers in every coordinate.

    Numbers are compared bit by bit in the type that rules work in, whatever type they were sent in: float64
    numbers that a float32 model rounds to those of another row are a copy of it, and NaN equals the same NaN.
    Honest rows differ in the first few numbers. Only rows that agree in all places that are looked at are
    read as a whole, once. A row that cannot be read is no copy: the next pass over the rows refuses it.

    >>> from holdfast.updates import rows_of
    >>> find_copies(rows_of(np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 2.0], [3.0, 2.0]])))
    CopiedRows(groups=((0, 2),), unchanged=(1,))
    """
    groups = [[BASE, *range(len(rows))]]
    for start, stop in _looks(rows):
        pieces = [(layer, inside) for layer, inside, _ in rows.pieces(start, stop)]
        groups = [part for group in groups for part in _split(rows, group, pieces)]
        if not groups:
            break
    copies = sorted(tuple(group) for group in groups if BASE not in group)
    unchanged = [row for group in groups if BASE in group for row in group if row != BASE]
    return CopiedRows(tuple(copies), tuple(unchanged))


def _looks(rows: Rows) -> Iterator[tuple[int, int]]:
    """Yield what to compare: the end of each layer, places in between, then everything.

    The last layers come first: they are trained even where the others are frozen.
    """
    is_stored = any(not isinstance(array, np.ndarray) for arrays in rows.arrays for array in arrays[:1])
    width, dim = CELL if is_stored else WIDTH, rows.dim
    spread = (dim * part // N_SPREAD for part in range(1, N_SPREAD))
    seen = set()
    for place in (*reversed(rows.layout.offsets[1:]), *spread):
        start = max(place - 1, 0) // width * width
        if start not in seen:
            seen.add(start)
            yield start, min(start + width, dim)
    for start in reversed(range(0, dim, CELL)):
        if not is_stored or start not in seen:
            yield start, min(start + CELL, dim)


def _split(rows: Rows, group: Sequence[int], pieces: Iterable[Piece]) -> list[list[int]]:
    """Return the parts of a group that agree in these pieces, without rows that agree with no other."""
    first = _numbers(rows, group[0], pieces)
    same, others = [group[0]], dict[bytes, list[int]]()
    for row in group[1:]:
        numbers = _numbers(rows, row, pieces)
        if numbers is not None and numbers == first:  # of copies, nothing is hashed
            same.append(row)
        elif numbers is not None:
            others.setdefault(numbers, []).append(row)
    return [part for part in (same, *others.values()) if len(part) > 1]


def _numbers(rows: Rows, row: int, pieces: Iterable[Piece]) -> bytes | None:
    """Return the numbers of one row, or of the base, as bytes; None if they cannot be read."""
    arrays = rows.base if row == BASE else rows.arrays[row]
    if arrays is None:
        return bytes(rows.dtype.itemsize * sum(inside.stop - inside.start for _, inside in pieces))
    try:
        return b"".join([_bytes(flat_piece(arrays[layer], inside), rows.dtype) for layer, inside in pieces])
    except Unfit:
        return None


def _bytes(values: NDArray[Any], dtype: np.dtype[Any]) -> bytes:
    return (values if values.dtype == dtype else widened(values, dtype)).tobytes()
