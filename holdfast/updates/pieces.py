"""Parts of an array in its flat order, wherever and however its numbers lie."""

from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

__all__ = ["InFile", "Places", "Stored", "flat_piece", "part_of", "taken"]

Array = NDArray[Any]


class InFile(NamedTuple):
    """Where numbers lie in an open file, and the checksums that are known of the cells they fill.

    They are at `place` and after it in an update, in a layer that goes from `first` to `last`.
    """

    file: int  # its descriptor
    at: int  # in bytes, from the start of the file
    place: int = 0
    first: int = 0
    last: int = 0
    known: NDArray[np.uint64] | None = None  # None: nothing is to be compared
    key: Any = None  # of the checksums


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

    def in_file(self, start: int, size: int) -> InFile | None:
        """Return where so many numbers from `start` on lie; None if only `read` can read them."""
        ...


#: Runs of so many neighbours, all of them so many apart or a multiple of it, are copied as one number each.
RUN = 8


class Places(NamedTuple):
    """Places in the flat order of an array: all of them, and those that come in runs of eight.

    >>> Places.of(np.array([2, *range(11, 19), *range(27, 35)]))[1:]
    (1, 3, array([1, 3]))
    """

    where: NDArray[np.int64]  # in order
    n_before: int  # the first run
    shift: int  # where runs start, counted in runs from here on
    runs: NDArray[np.int64]  # [run] its number

    @classmethod
    def of(cls, where: NDArray[np.int64]) -> "Places":
        """Return these places with the runs that are among them, if all but a few at the ends are in some."""
        for before in range(RUN):
            inside = where[before : before + (len(where) - before) // RUN * RUN].reshape(-1, RUN)
            shift = int(inside[0, 0]) % RUN if len(inside) else 0
            if len(inside) and (inside == inside[:, :1] + np.arange(RUN)).all():
                runs, rest = np.divmod(inside[:, 0], RUN)
                if (rest == shift).all():
                    return cls(where, before, shift, runs)
        return cls(where, 0, 0, where[:0])


def taken(array: Array | Stored, places: Places) -> Array:
    """Return the numbers at these places in flat order; of a file, each run of neighbours is one read."""
    where = places.where
    if isinstance(array, np.ndarray):
        if not array.flags.c_contiguous:
            return array[np.unravel_index(where, array.shape)]
        return _picked(array.reshape(-1), places)
    runs = np.split(where, np.flatnonzero(np.diff(where) != 1) + 1)
    return np.concatenate([flat_piece(array, slice(int(run[0]), int(run[-1]) + 1)) for run in runs])


def _picked(flat: Array, places: Places) -> Array:
    """Return the numbers at these places. Most of the time is spent on waiting for memory, run by run."""
    where, first = places.where, places.n_before
    last = first + RUN * len(places.runs)
    found = np.empty(len(where), flat.dtype)
    if last > first:
        run = np.dtype((np.void, RUN * flat.itemsize))
        in_runs = flat[places.shift : places.shift + (len(flat) - places.shift) // RUN * RUN].view(run)
        in_runs.take(places.runs, mode="clip", out=found[first:last].view(run))
    for rest in (slice(0, first), slice(last, len(where))):
        # Without clipping, which none of them needs, it is slower.
        flat.take(where[rest], mode="clip", out=found[rest])
    return found


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
