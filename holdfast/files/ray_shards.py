"""The passes of a round over a Ray cluster. Every node must be able to read the files at their paths."""

import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import HoldfastError, InputError, NonFiniteError
from ..kernels.passes import Job, Part, Total, added, parts
from ..updates.rows import Rows
from .opening import StoredTensor
from .room import Room, check_unchanged
from .round import FileRound, OpenRound, open_round
from .shards import slice_of

__all__ = ["RayRoom", "connect"]

Array = NDArray[Any]

#: Slices for each of the cluster's cores: small enough that none waits long for the slowest.
SLICES_PER_CORE = 4


def connect(workers: str) -> int:
    """Join a cluster, `ray` for one on this machine or the address of one, and return its number of cores."""
    try:
        import ray
    except ModuleNotFoundError:
        raise InputError("workers on Ray need the package: pip install 'holdfast[ray]'") from None
    if workers != "ray" and not workers.startswith("ray://"):
        raise InputError(f"workers are ray or ray://address:port; got {workers!r}")
    if not ray.is_initialized():
        try:
            address = None if workers == "ray" else workers
            ray.init(
                address=address, include_dashboard=False if address is None else None, log_to_driver=False
            )
        except (ConnectionError, RuntimeError, ValueError) as error:
            raise HoldfastError(f"no Ray cluster at {workers}: {error}") from None
    return max(1, int(ray.cluster_resources().get("CPU", 1)))


@dataclass(eq=False)
class RayRoom(Room):
    """A home whose passes are done by the workers of a cluster, each on slices of the coordinates."""

    given: FileRound | None = None
    n_cores: int = 1
    key: str = field(default_factory=lambda: uuid.uuid4().hex)  # of this round: workers keep its files open

    def run(self, rows: Rows, job: Job, out: Array | None) -> Total:
        """Send the slices out, and add what comes back in their order."""
        self.n_passes += 1
        total = added(job, self._found(rows, job, out))
        check_unchanged(rows)
        return total

    def _found(self, rows: Rows, job: Job, out: Array | None) -> Iterator[Part]:
        import ray

        n_slices = SLICES_PER_CORE * self.n_cores
        slices = [slice_of(rows.dim, number, n_slices) for number in range(1, n_slices + 1)]
        slices = [(start, stop) for start, stop in slices if start < stop]
        clients = tuple(_key(arrays) for arrays in rows.arrays)
        work = ray.remote(num_cpus=1)(_slice)
        waiting = [
            work.remote(self.key, self.given, clients, start, stop, job.on(start, stop))
            for start, stop in slices
        ]
        for done, (start, stop) in enumerate(slices, start=1):
            try:
                refused, counts, cells, update = ray.get(waiting.pop(0))
            except ray.exceptions.RayError as error:
                raise HoldfastError(f"a worker of the Ray cluster failed: {error}") from None
            if refused is not None:
                rows.refuse(np.isin(np.arange(len(rows)), refused[0]), refused[1])
            if out is not None:
                out[start:stop] = update
            yield Part(counts, cells)
            if self.watch is not None:
                self.watch(self.n_passes, done, len(slices))


def _key(arrays: Any) -> tuple[str, bytes]:
    """Return what tells a client's files from others: the path and the header of the first."""
    first: StoredTensor = arrays[0]
    return str(first.file.path), first.file.header.raw


def _slice(
    key: str, given: FileRound, clients: tuple[tuple[str, bytes], ...], start: int, stop: int, job: Job
) -> tuple[Any, Array, Array, Array | None]:
    """Return what a worker finds in its slice, or whose file it could not read."""
    rows = _opened(key, given).screened.rows
    by_key = {_key(arrays): row for row, arrays in enumerate(rows.arrays)}
    missing = [path for path, header in clients if (path, header) not in by_key]
    if missing:
        raise HoldfastError(
            f"a worker sees another {missing[0]} than the driver: share the folder with all nodes"
        )
    positions = [by_key[client] for client in clients]
    chosen = rows.select(positions)
    cut = chosen.columns(start, stop)
    update = np.empty(stop - start, dtype=cut.dtype) if job.plan else None
    try:
        found = list(parts(cut, job, update))
        check_unchanged(chosen)
    except NonFiniteError as error:
        empty = np.zeros(1, dtype=np.int64), np.zeros((0, *job.shape)), update
        return ([positions.index(row) for row in error.rows], error.problem), *empty
    counts = np.sum([part.counts for part in found], axis=0)
    return None, counts, np.concatenate([part.cells for part in found]), update


@lru_cache(maxsize=1)
def _opened(key: str, given: FileRound) -> OpenRound:
    return open_round(given, None)


def ray_room(given: FileRound, out: Path, memory: int, workers: str, watch: Any = None) -> RayRoom:
    """Return the home of a round on a cluster.

    >>> ray_room.__name__
    'ray_room'
    """
    return RayRoom(out.resolve().parent, memory, watch, given=given, n_cores=connect(workers))
