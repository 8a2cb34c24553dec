"""Momenta of clients, each moved a step towards its client's update; in memory, or in files."""

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.passes import Job, Total, added, parts
from ..updates.layout import PIECE
from ..updates.pieces import Stored, flat_piece, part_of
from ..updates.rows import Home, Rows
from .histories import Roster, Seen
from .shelf import Shelf

__all__ = ["as_rows", "moved_in_memory", "moved_on_disk"]

Array = NDArray[Any]

#: Clients that no memory exceeds: the squared lengths of so many rows add up to a finite number.
MANY = 1 << 26


def moved_in_memory(momenta: Array, rows: Rows, seen: Seen, pace: float) -> Array:
    """Return the momenta of all clients after a round, in a matrix of its own; newcomers start at zero."""
    moved = seen.grown(momenta)
    for row, place in enumerate(seen.places.tolist()):
        old = moved[place] if place < len(seen.stayed) else None
        for piece, values in _blended(old, rows.select([row]), pace):
            moved[place, piece] = values
    return moved


def moved_on_disk(
    shelf: Shelf, roster: Roster, rows: Rows, seen: Seen, pace: float
) -> tuple[list[Stored], list[str]]:
    """Return the same in files, and the names of those that the roster before the round refers to alone."""
    files = [shelf.name(*known) for known in zip(roster.clients, roster.last.tolist(), strict=True)]
    shelf.check(files, rows.dim * rows.dtype.itemsize)
    shelf.take_back(seen.roster.round)
    names = [files[place] for place in seen.stayed] + [""] * (len(seen.roster.clients) - len(seen.stayed))
    replaced = [files[place] for place in seen.forgotten]
    for row, place in enumerate(seen.places.tolist()):
        fresh = shelf.name(seen.roster.clients[place], seen.roster.round)
        old = shelf.row(names[place], rows.dim, rows.dtype) if names[place] else None
        replaced += [names[place]] if names[place] else []
        shelf.write(fresh, (values for _, values in _blended(old, rows.select([row]), pace)))
        names[place] = fresh
    return [shelf.row(name, rows.dim, rows.dtype) for name in names], replaced


def as_rows(momenta: Iterable[Array | Stored], like: Rows) -> Rows:
    """Return flat momenta as rows in the layers of the updates; what a rule makes of them stays flat."""
    slices = [slice(start, stop) for start, stop in pairwise(like.layout.offsets)]
    layers = tuple(tuple(part_of(flat, piece) for piece in slices) for flat in momenta)
    layout = replace(like.layout, flat_dtype=like.dtype)
    return Rows(layout, layers, home=None if like.home is None else _Beside(like.home))


@dataclass(frozen=True)
class _Beside:
    """Passes over our own files are done here, into room for an update where the clients' rows are."""

    home: Home

    def empty(self, dim: int, dtype: np.dtype[Any]) -> Array:
        """Return room for one update."""
        return self.home.empty(dim, dtype)

    def run(self, rows: Rows, job: Job, out: Array | None) -> Total:
        """Do a pass over all rows."""
        return added(job, parts(rows, job, out))


def _blended(old: Array | Stored | None, own: Rows, pace: float) -> Iterator[tuple[slice, Array]]:
    """Yield (1 - pace) of the old momentum plus the pace of a client's own row, a piece at a time."""
    limit = min(float(np.finfo(own.dtype).max), math.sqrt(np.finfo(np.float64).max / MANY / own.dim))
    for start in range(0, own.dim, PIECE):
        piece = slice(start, min(start + PIECE, own.dim))
        values = pace * own.block(piece.start, piece.stop)[0].astype(np.float64)
        if old is not None:
            values += (1 - pace) * flat_piece(old, piece)
        yield piece, np.clip(values, -limit, limit).astype(own.dtype)
