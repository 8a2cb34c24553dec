"""Files of others, open, and the tensors in them: read, never mapped.

A file is read with pread into memory of our own: a mapped file that somebody makes shorter meanwhile would
end the process with SIGBUS. What a client left in place of a file (a link, a pipe, a device) is not opened.
"""

import math
import os
import resource
import stat
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..kernels.digests import Key
from ..updates.layout import Layer, Unfit
from ..updates.pieces import InFile
from .header import DTYPES, FLOAT_TYPES
from .witness import Witness

__all__ = ["StoredFile", "StoredTensor", "allow_many_files", "identity_of", "opened", "stamp_of"]

Array = NDArray[Any]

#: Files that a process may have open if nothing limits it.
MANY_FILES = 1 << 20


@dataclass(frozen=True, eq=False)
class StoredFile:
    """An open file, closed when nothing refers to it any more; one that is unpickled is opened again."""

    path: Path
    fd: int
    flags: int  # it was opened with
    stamp: tuple[int, ...]  # what changes when somebody writes to the file
    name: str | None = None  # what the server calls it, if it is its own

    def __del__(self) -> None:
        """Close the file."""
        os.close(self.fd)

    def __reduce__(self) -> tuple[Any, ...]:
        """Send what identifies the file, not what is in it."""
        return _reopened, (self.path, self.flags, self.stamp, self.name)

    @property
    def is_unchanged(self) -> bool:
        """Whether nobody has written to the file since it was opened."""
        return stamp_of(os.fstat(self.fd)) == self.stamp

    @property
    def identity(self) -> tuple[int, ...]:
        """What is the same whatever path leads to the file."""
        return self.stamp[3:]

    def check_own(self) -> None:
        """Raise a DataError if this file of the server's own was written to since it was opened."""
        if not self.is_unchanged:
            raise DataError(f"{self.name}, {self.path}, was changed while it was read")

    def failed(self, problem: str) -> Exception:
        """Return what to raise for bytes that cannot be had: only a client may be dropped for it."""
        return DataError(f"{self.name}, {self.path}, holds {problem}") if self.name else Unfit(problem)


@dataclass(frozen=True, eq=False)
class StoredTensor:
    """The numbers of one tensor, flat or in part: what `Rows` read piece by piece."""

    file: StoredFile
    type_name: str
    shape: tuple[int, ...]
    start: int  # in bytes, from the start of the file
    witness: Witness | None = None  # of a client's

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers, bfloat16 being its bits."""
        return DTYPES[self.type_name]

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)

    @property
    def layer(self) -> Layer:
        """Shape and type, as a rule knows them."""
        return Layer(self.shape, FLOAT_TYPES.get(self.type_name) or self.dtype)

    def read(self, start: int, out: Array) -> None:
        """Fill `out` with the numbers from `start` on; Unfit if they are fewer than there were, or others."""
        left = out.reshape(-1).view(np.uint8).data
        at = self.start + start * self.dtype.itemsize
        while left:
            try:
                n_bytes = os.preadv(self.file.fd, [left], at)
            except OSError as error:
                raise self.file.failed(f"bytes that cannot be read: {error.strerror}") from None
            if n_bytes == 0:
                raise self.file.failed("fewer bytes than when it was opened")
            left, at = left[n_bytes:], at + n_bytes
        if self.witness is not None:
            self.witness.check(start, out)

    def in_file(self, start: int, size: int) -> InFile | None:
        """Return where so many numbers from `start` on lie; None if their witness must look at each."""
        place = InFile(self.file.fd, self.start + start * self.dtype.itemsize)
        return place if self.witness is None else self.witness.known_of(place, start, size)

    def part(self, piece: slice) -> "StoredTensor":
        """Return a piece of it, in flat order, cut where cells end if there is a witness."""
        start = self.start + piece.start * self.dtype.itemsize
        witness = self.witness and self.witness.part(piece)
        return replace(self, shape=(piece.stop - piece.start,), start=start, witness=witness)

    def witnessed(self, key: Key, first: int) -> "StoredTensor":
        """Return the same, to be read more than once; `first` is its first number's place in an update."""
        return replace(self, witness=Witness.of(key, first, self.size, self.dtype))

    def values(self) -> Array:
        """Return all numbers in their shape; only for what is known to be small."""
        out = np.empty(self.shape, dtype=self.dtype)
        self.read(0, out.reshape(-1))
        return out


def _reopened(path: Path, flags: int, stamp: tuple[int, ...], name: str | None) -> StoredFile:
    """Return a file as another process finds it: empty if it cannot be opened, changed if it is another."""
    try:
        with opened(path, None, flags) as (fd, _):
            return StoredFile(path, os.dup(fd), flags, (*stamp[:2], *stamp_of(os.fstat(fd))[2:]), name)
    except (OSError, Unfit):
        return StoredFile(path, os.open(os.devnull, os.O_RDONLY), flags, stamp, name)


@contextmanager
def opened(name: str | Path, folder: int | None, flags: int) -> Iterator[tuple[int, int]]:
    """Open a regular file, without waiting for whoever may hold the other end of a pipe."""
    allow_many_files()
    fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags, dir_fd=folder)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise Unfit("is not a regular file")
        yield fd, found.st_size
    finally:
        os.close(fd)


def stamp_of(found: os.stat_result) -> tuple[int, ...]:
    """Return what changes when somebody writes to a file."""
    # Size and time are the same on every machine that shares the file; the others may be each one's own.
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_dev, found.st_ino


def identity_of(found: os.stat_result) -> tuple[int, ...]:
    """Return what is the same whatever path leads to a file."""
    return stamp_of(found)[3:]


def allow_many_files() -> int:
    """Let this process open as many files as the system allows it; return how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else MANY_FILES
