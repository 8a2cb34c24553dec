"""Room on the disk: for updates that do not fit into memory, and for copies of files that break off."""

import logging
import os
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from .._support.threads import in_order
from ..updates.layout import Unfit
from ..updates.rows import Rows
from .stored import StoredTensor
from .witness import CHANGED

__all__ = ["Copies", "mapped"]

Array = NDArray[Any]

log = logging.getLogger("holdfast")

ALIGNED = 64  # bytes, as loops like numbers to lie


def mapped(folder: Path, dim: int, dtype: np.dtype[Any]) -> Array:
    """Return room that lies in a file without a name, which is gone when nothing refers to it any more."""
    with tempfile.TemporaryFile(dir=folder) as file:
        # Now, so that a full disk is an error here and not the end of the process later.
        reserve = getattr(os, "posix_fallocate", lambda fd, _, size: os.truncate(fd, size))
        try:
            reserve(file.fileno(), 0, max(1, dim * dtype.itemsize))
        except OSError as error:
            raise OSError(error.errno, error.strerror, str(folder)) from None
        return np.memmap(file, dtype=dtype, mode="r+", shape=(dim,))


@dataclass(eq=False)
class Copies:
    """The numbers of clients in files without a name, which nobody else can change or make shorter."""

    folder: Path
    held: dict[StoredTensor, Array] = field(default_factory=dict)
    has_room: bool = True

    def instead_of(self, rows: Rows) -> Rows:
        """Return the same rows as copies, made where there are none yet; as they are if there is no room.

        All rows that cannot be copied, or are not what they were, are refused at once.
        """
        sent = [cast(tuple[StoredTensor, ...], tensors) for tensors in rows.arrays]
        missing = [row for row, tensors in enumerate(sent) if tensors[0] not in self.held and self.has_room]
        is_bad = np.zeros(len(rows), dtype=bool)
        try:
            is_bad[missing] = [
                not copied for copied in in_order(self._copied, [sent[row] for row in missing])
            ]
        except OSError as error:
            self.has_room = False
            self.held.clear()
            log.warning("no room for copies of the clients' files in %s: %s", self.folder, error.strerror)
        rows.refuse(is_bad, CHANGED)
        if not self.has_room:
            return rows
        return replace(rows, arrays=tuple(tuple(self.held[tensor] for tensor in tensors) for tensors in sent))

    def _copied(self, tensors: Sequence[StoredTensor]) -> bool:
        """Copy the tensors of a client, and return whether they are what they were when first read."""
        sizes = [-(-tensor.size * tensor.dtype.itemsize // ALIGNED) * ALIGNED for tensor in tensors]
        room = mapped(self.folder, sum(sizes), np.dtype(np.uint8)).view(np.ndarray)
        copies, at = {}, 0
        for tensor, size in zip(tensors, sizes, strict=True):
            copies[tensor] = room[at : at + tensor.size * tensor.dtype.itemsize].view(tensor.dtype)
            at += size
            try:
                tensor.read(0, copies[tensor])
            except Unfit:
                return False
        self.held |= copies
        return True
