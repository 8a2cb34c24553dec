"""Where flat updates are put and passes are done: in as much memory as is allowed, the rest on disk."""

import weakref
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.threads import n_threads
from ..errors import InputError, NonFiniteError
from ..kernels.passes import READ_BYTES, Job, Part, Total, added, parts
from ..updates.rows import CELL, Rows
from .disk import Copies, mapped
from .witness import CHANGED

__all__ = ["Progress", "Room", "check_unchanged", "n_bytes_of"]

Array = NDArray[Any]

#: Called at every step of a pass, with its number, the cells that are done, and how many there are.
Progress = Callable[[int, int, int], None]

#: Passes that may break off before the clients' files are copied.
MOST_BROKEN = 2
#: What the interpreter and the compiled code take for themselves.
OWN = 256 << 20
UNITS = {"": 1, "B": 1, "KB": 10**3, "MB": 10**6, "GB": 10**9, "TB": 10**12}
UNITS |= {"KIB": 1 << 10, "MIB": 1 << 20, "GIB": 1 << 30, "TIB": 1 << 40}


def n_bytes_of(text: str) -> int:
    """Return a size as people write it, in bytes."""
    number = text.strip().rstrip("BKMGTIbkmgti")
    unit = text.strip()[len(number) :].upper()
    try:
        size = float(number) * UNITS[unit]
        if 0 < size < 2**60:
            return int(size)
    except (ValueError, KeyError):
        pass
    raise InputError(f"a size in memory is written like 500MB or 1GB; got {text!r}")


@dataclass(eq=False)
class Room:
    """The home of rows that lie in files: passes are done here, in bounded memory."""

    folder: Path  # for what does not fit
    memory: int  # bytes
    progress: Progress | None = None
    used: int = 0
    n_passes: int = 0
    n_broken: int = 0  # passes that broke off

    def __post_init__(self) -> None:
        """Make copies possible."""
        self.copies = Copies(self.folder)

    def empty(self, dim: int, dtype: np.dtype[Any]) -> Array:
        """Return room for one update: in memory if it fits there, else in a file without a name."""
        n_bytes = dim * dtype.itemsize
        if self.used + n_bytes > (self.memory - OWN) * 3 // 4:  # the rest is for the threads
            return mapped(self.folder, dim, dtype)
        self.used += n_bytes
        array: Array = np.empty(dim, dtype)
        weakref.finalize(array, self._free, n_bytes)
        return array

    def _free(self, n_bytes: int) -> None:
        self.used -= n_bytes

    def run(self, rows: Rows, job: Job, out: Array | None) -> Total:
        """Do a pass over all rows, and see afterwards that nobody wrote to their files meanwhile.

        A client whose file breaks off makes the rule start again. When that has happened often enough, the
        passes go over copies: so their number does not grow with that of the attackers.
        """
        if self.n_broken >= MOST_BROKEN:
            rows = replace(self.copies.instead_of(rows.unmixed), mixing=rows.mixing)
        self.n_passes += 1
        try:
            total = added(job, self._told(rows.dim, self.parts(rows, job, out)))
            check_unchanged(rows)
        except NonFiniteError:
            self.n_broken += 1
            if np.count_nonzero(_changed(rows)) > 1:  # those who break off together are dropped together
                check_unchanged(rows)
            raise
        return total

    def parts(self, rows: Rows, job: Job, out: Array | None) -> Iterator[Part]:
        """Yield what is found, in order."""
        return parts(rows, job, out, n_workers=self.n_workers(rows))

    def check_holds(self, n_bytes: int, what: str) -> None:
        """Raise unless this many bytes can be held in memory beside everything else."""
        if n_bytes and 4 * n_bytes > self.memory - OWN:
            raise InputError(
                f"{what} take {-(-n_bytes // 10**6)}MB, which must be held in memory: allow at least"
                f" {-(-(OWN + 4 * n_bytes) // 10**6)}MB"
            )

    def n_workers(self, rows: Rows) -> int:
        """Return how many threads there is room for: at most two per core, as some wait for the disk."""
        needed = max((rows.n_held + 1) * CELL * rows.dtype.itemsize, READ_BYTES)
        least = OWN + 4 * needed
        if self.memory < least:
            raise InputError(
                f"{len(rows)} clients need at least {-(-least // 10**6)}MB of memory; got"
                f" {self.memory // 10**6}MB"
            )
        return max(1, min(2 * n_threads(), (self.memory - OWN) // (4 * needed)))

    def _told(self, dim: int, found: Iterable[Part]) -> Iterator[Part]:
        n_cells, n_done = -(-dim // CELL), 0
        for part in found:
            yield part
            n_done += part.n_done
            if self.progress is not None:
                self.progress(self.n_passes, n_done, n_cells)


def check_unchanged(rows: Rows) -> None:
    """Refuse the rows whose files were written to after they were opened: a pass may have seen both."""
    rows.unmixed.refuse(_changed(rows), CHANGED)
    for file in _files(rows.base or ()):
        file.check_own()


def _changed(rows: Rows) -> Array:
    return np.array([not all(file.is_unchanged for file in _files(arrays)) for arrays in rows.arrays])


def _files(arrays: Any) -> set[Any]:
    return {array.file for array in arrays if not isinstance(array, np.ndarray)}
