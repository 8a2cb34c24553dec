"""Rows of the server's own on disk, one file per client and round, for what does not fit into memory.

A file is written whole or not at all, and never changed: whoever knows the round in which a client was last
seen reads its row as it was then. A round that breaks off leaves the rows of the rounds before it alone.
"""

import hashlib
import json
import os
import re
from collections.abc import Iterable, Iterator
from contextlib import closing
from dataclasses import dataclass, replace
from io import FileIO
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.atomic import replacing
from .._support.ids import Name
from ..errors import DataError
from ..updates.pieces import Stored

__all__ = ["Shelf", "StoredRow"]

Array = NDArray[Any]

FILE = re.compile(r"[0-9a-f]{32}-([0-9]{1,18})")


@dataclass(eq=False)
class StoredRow:
    """One row in a file, or a part of it, read piece by piece; the file is open only while it is read."""

    path: Path
    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    start: int = 0

    def read(self, start: int, out: Array) -> None:
        """Fill `out` with the numbers from `start` on."""
        left = out.reshape(-1).view(np.uint8).data
        try:
            with closing(FileIO(self.path)) as file:
                file.seek((self.start + start) * self.dtype.itemsize)
                while left:
                    n_bytes = file.readinto(left)
                    if not n_bytes:
                        raise _gone(self.path, "is too short")
                    left = left[n_bytes:]
        except OSError as error:
            raise _gone(self.path, f"cannot be read: {error.strerror}") from None

    def part(self, piece: slice) -> Stored:
        """Return a piece of it."""
        return replace(self, start=self.start + piece.start, shape=(piece.stop - piece.start,))

    def in_file(self, start: int, size: int) -> None:
        """Return nothing: the file is not open."""


@dataclass(frozen=True)
class Shelf:
    """The rows of one training, in a folder that nothing else writes to."""

    folder: Path

    def name(self, client: Name, number: int) -> str:
        """Return what the file of a client is called that was last seen in this round."""
        return f"{hashlib.sha256(json.dumps(client).encode()).hexdigest()[:32]}-{number}"

    def row(self, name: str, dim: int, dtype: np.dtype[Any]) -> StoredRow:
        """Return the row in the file of this name."""
        return StoredRow(self.folder / name, dtype, (dim,))

    def check(self, names: Iterable[str], n_bytes: int) -> None:
        """Raise a DataError unless all files of these names are there, and as long as a row."""
        for name in names:
            path = self.folder / name
            if not path.is_file() or path.stat().st_size != n_bytes:
                raise _gone(path, f"is not there, or not a file of {n_bytes} bytes")

    def write(self, name: str, pieces: Iterable[Array]) -> None:
        """Write a row, piece by piece, all or nothing."""
        self.folder.mkdir(parents=True, exist_ok=True)
        with replacing(self.folder / name) as file:
            for piece in pieces:
                file.write(np.ascontiguousarray(piece).data)

    def take_back(self, number: int) -> None:
        """Remove what was written in this round or later ones, which broke off or are done again."""
        later = [name for name, written in self._files() if written >= number]
        self.remove(later)

    def remove(self, names: Iterable[str]) -> None:
        """Remove the files of these names, and nothing that is no row."""
        for name in names:
            if FILE.fullmatch(name):
                (self.folder / name).unlink(missing_ok=True)

    @property
    def n_bytes(self) -> int:
        """How much room the rows take."""
        return sum((self.folder / name).stat().st_size for name, _ in self._files())

    def _files(self) -> Iterator[tuple[str, int]]:
        for name in os.listdir(self.folder) if self.folder.exists() else ():
            found = FILE.fullmatch(name)
            if found:
                yield name, int(found[1])


def _gone(path: Path, problem: str) -> DataError:
    return DataError(
        f"{path}, which the state refers to, {problem}; restore the folder as it was when the state was"
        " stored, or start again without the state"
    )
