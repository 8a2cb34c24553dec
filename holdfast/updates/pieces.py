"""Parts of an array in its flat order, wherever and however its numbers lie."""

from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["Stored", "flat_piece", "part_of", "taken"]

Array = NDArray[Any]


class Stored(Protocol):
    """Numbers that lie elsewhere, in a file, and are read a piece at a time."""

    shape: tuple[int, ...]
    dtype: np.dtype[Any]

    def read(self, start: int, out: Array) -> None:
        """Fill `out` with the numbers from `start` on, in flat order; Unfit if they cannot be had."""
        ...

    def part(self, piece: slice) -> "Stored":
        """Return a piece of it, in flat order."""
        ...


def taken(array: Array | Stored, where: NDArray[np.int64]) -> Array:
    """Return the numbers at these places in flat order; of a file, each run of neighbours is one read."""
    if isinstance(array, np.ndarray):
        if not array.flags.c_contiguous:
            return array[np.unravel_index(where, array.shape)]
        return array.reshape(-1).take(where, mode="clip")  # which none of them needs, and which is faster
    runs = np.split(where, np.flatnonzero(np.diff(where) != 1) + 1)
    return np.concatenate([flat_piece(array, slice(int(run[0]), int(run[-1]) + 1)) for run in runs])


def part_of(array: Array | Stored, piece: slice) -> Array | Stored:
    """Return a piece of the array in its flat order, which is read from a file only when it is needed."""
    return flat_piece(array, piece) if isinstance(array, np.ndarray) else array.part(piece)


def flat_piece(array: Array | Stored, piece: slice) -> Array:
    """Return a piece of the array in its flat order, copied only if it must be.

    >>> flat_piece(np.arange(6).reshape(2, 3).T, slice(1, 4))
    array([3, 1, 4])
    """
    if not isinstance(array, np.ndarray):
        values: Array = np.empty(piece.stop - piece.start, dtype=array.dtype)
        array.read(piece.start, values)
        return values
    if array.flags.c_contiguous:
        return array.reshape(-1)[piece]
    if array.ndim == 1:
        return array[piece]
    copied = np.empty(piece.stop - piece.start, dtype=array.dtype)
    _copy(array, piece.start, copied)
    return copied


def _copy(array: Array, start: int, out: Array) -> None:
    """Fill `out` with the numbers from `start` on, in flat order; nothing else of the array is looked at."""
    if array.ndim == 1:
        out[:] = array[start : start + out.size]
        return
    size, done = array[0].size, 0
    while done < out.size:
        row, inside = divmod(start + done, size)
        n_rows = 0 if inside else (out.size - done) // size
        if n_rows:
            rows = array[row : row + n_rows]
            out[done : done + rows.size].reshape(rows.shape)[...] = rows
            done += rows.size
        else:  # a part of one row
            n = min(size - inside, out.size - done)
            _copy(array[row], inside, out[done : done + n])
            done += n
