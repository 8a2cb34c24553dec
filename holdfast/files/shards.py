"""A round on several machines that share nothing but files: each does a slice of the coordinates.

A rule is a few passes over the rows with small sums between them. A shard does its slice of the first pass
that is not done yet and stores what it found, sums cell by cell. When all shards have, each can add them up
in the order of the cells, go through the rule up to the next pass, and do its slice of that. So a rule of two
passes (the Gram matrix, then a weighted sum) takes two turns of all shards; then `merge` writes the model.
"""

import hashlib
import json
import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..diagnostics import Diagnostics
from ..errors import DataError, HoldfastError, InputError, NonFiniteError
from ..kernels.passes import Job, Part, Total, added, parts
from ..updates.rows import CELL, Rows
from .aggregating import finish_round, run_rule
from .header import encoded
from .opening import Checkpoint, open_own
from .output import write_tensors
from .room import Room, check_unchanged
from .round import FileRound
from .told import load_round, partials_of, store_round

__all__ = ["MoreToDo", "merge_shards", "run_shard", "slice_of"]

Array = NDArray[Any]

#: Sums of cells are read so many bytes at a time.
BATCH = 16 << 20


class MoreToDo(HoldfastError):  # noqa: N818  (news, not a failure)
    """A pass is not done by all shards yet; `missing` says by which."""

    def __init__(self, number: int, missing: list[int], n_shards: int) -> None:
        """Say which shards must be run."""
        self.number, self.missing, self.n_shards = number, missing, n_shards
        which = ", ".join(f"{shard}/{n_shards}" for shard in missing)
        super().__init__(f"pass {number} is not done yet: run the shards {which}")


def run_shard(given: FileRound, out: Path, room: Room, shard: int, n_shards: int) -> None:
    """Do one shard's slice of every pass that can be done; raise MoreToDo if others must go first.

    `shard` counts from 1. What is found goes into the folder `<out>.partials`.
    """
    if not 1 <= shard <= n_shards:
        raise InputError(f"a shard is written i/n with i from 1 to n; got {shard}/{n_shards}")
    if given.rule.needs("rng") and given.seed is None:
        raise InputError(f"{given.rule.name} draws random numbers: shards need the same seed")
    store_round(given, out, n_shards)
    home = _Shards(room.folder, room.memory, room.watch, out=out, given=given, n_shards=n_shards, own=shard)
    run_rule(given, out, home)


def merge_shards(out: Path, room: Room) -> Diagnostics:
    """Write the model that the shards have made; raise MoreToDo if a pass is not done yet."""
    given, n_shards = load_round(out)
    home = _Shards(room.folder, room.memory, room.watch, out=out, given=given, n_shards=n_shards)
    said = finish_round(given, out, home)
    shutil.rmtree(partials_of(out))
    return said


def slice_of(dim: int, shard: int, n_shards: int) -> tuple[int, int]:
    """Return the coordinates of a shard (counted from 1): whole cells, as many as the others have.

    >>> [slice_of(100_000, shard, 3) for shard in (1, 2, 3)]
    [(0, 32768), (32768, 65536), (65536, 100000)]
    """
    n_cells = -(-dim // CELL)
    start, stop = (n_cells * number // n_shards for number in (shard - 1, shard))
    return min(start * CELL, dim), min(stop * CELL, dim)


@dataclass(eq=False)
class _Shards(Room):
    out: Path = Path()
    given: FileRound | None = None
    n_shards: int = 1
    own: int | None = None  # the shard that is done here; None: all that is left is to merge

    def run(self, rows: Rows, job: Job, out: Array | None) -> Total:
        """Return what all shards have found, after doing this one's share if that is missing."""
        self.n_passes += 1
        ticket = _ticket(rows, job, self.given)
        if self.own is not None and not self._path(self.own).exists():
            self._do(rows, job, ticket, self.own)
        missing = [n for n in range(1, self.n_shards + 1) if not self._path(n).exists()]
        if missing:
            raise MoreToDo(self.n_passes, missing, self.n_shards)
        found = [_opened(self._path(number), ticket) for number in range(1, self.n_shards + 1)]
        for stored in found:
            refused = json.loads(stored.files[0].header.metadata.get("refused", "[[], null]"))
            rows.refuse(np.isin(np.arange(len(rows)), refused[0]), refused[1])
        if out is not None:
            for number, stored in enumerate(found, start=1):
                start, stop = slice_of(rows.dim, number, self.n_shards)
                stored.tensors["update"].read(0, out[start:stop])
        return added(job, (part for stored in found for part in _parts(stored)))

    def _path(self, shard: int) -> Path:
        name = f"pass-{self.n_passes:03}-shard-{shard:05}-of-{self.n_shards:05}.safetensors"
        return partials_of(self.out) / name

    def _do(self, rows: Rows, job: Job, ticket: str, shard: int) -> None:
        start, stop = slice_of(rows.dim, shard, self.n_shards)
        update = self.empty(stop - start, rows.dtype) if job.plan else np.zeros(0)
        arrays = {"counts": np.zeros(1, dtype=np.int64), "cells": np.zeros((0, *job.shape)), "update": update}
        metadata = {"holdfast": "partial", "ticket": ticket}
        try:
            if start < stop:
                cut, task, room = rows.columns(start, stop), job.on(start, stop), update if job.plan else None
                found = parts(cut, task, room, n_workers=self.n_workers(rows))
                whole = list(self.watched(stop - start, found))
                arrays["counts"] = np.sum([part.counts for part in whole], axis=0)
                arrays["cells"] = np.concatenate([part.cells for part in whole])
            check_unchanged(rows)
        except NonFiniteError as error:  # a file that could not be read to its end: all shards must know
            before = rows.positions or range(len(rows))
            metadata["refused"] = json.dumps([[list(before).index(row) for row in error.rows], error.problem])
        types = {"int64": "I64", "float64": "F64", "float32": "F32"}
        forms = {name: (types[array.dtype.name], array.shape) for name, array in arrays.items()}
        write_tensors(self._path(shard), encoded(forms, metadata), arrays)


def _opened(path: Path, ticket: str) -> Checkpoint:
    stored = open_own(path, name="a shard's part")
    if stored.files[0].header.metadata.get("ticket") != ticket:
        raise DataError(
            f"{path} was made from other files or settings: remove the folder {path.parent} and start anew"
        )
    return stored


def _parts(stored: Checkpoint) -> Iterator[Part]:
    """Yield what a shard found, a batch of cells at a time."""
    counts, cells = stored.tensors["counts"].values(), stored.tensors["cells"]
    n_cells, shape = cells.shape[0], cells.shape[1:]
    size = int(np.prod(shape, dtype=np.int64))
    batch = max(1, BATCH // max(8 * size, 1))
    yield Part(counts, np.zeros((0, *shape)))
    for at in range(0, n_cells if size else 0, batch):
        some = np.empty((min(batch, n_cells - at), *shape))
        cells.read(at * size, some.reshape(-1))
        yield Part(np.zeros(1, dtype=np.int64), some)


def _ticket(rows: Rows, job: Job, given: FileRound | None) -> str:
    """Return a hash of what a pass is made of, but for the numbers in the files."""
    said = hashlib.sha256(repr((given, job.loop, job.shape, rows.dim, len(rows), rows.positions)).encode())
    every: Any = (*rows.arrays, rows.base or ())
    for arrays in every:
        for file in dict.fromkeys(array.file for array in arrays if not isinstance(array, np.ndarray)):
            said.update(str(file.path).encode() + file.header.raw)
    if job.plan is not None:
        for name, value in job.plan._asdict().items():
            if name != "beside":
                said.update(name.encode() + np.asarray(value).tobytes())
    return said.hexdigest()
