"""The passes of a round on a Ray cluster. Every node must be able to read the files at their paths."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.threads import in_order
from ..errors import HoldfastError, NonFiniteError
from ..kernels.passes import Job, Part, parts
from ..updates.rows import CELL, Rows
from .room import Room, check_unchanged

__all__ = ["RayRoom"]

Array = NDArray[Any]

#: Slices for each of the cluster's cores: small enough that none waits long for the slowest.
SLICES_PER_CORE = 4
#: Bytes of sums, and of the update, that a slice brings back at most.
SLICE_BYTES = 16 << 20


@dataclass(eq=False)
class RayRoom(Room):
    """A home whose passes are done by the workers of a cluster that is connected to, slice by slice."""

    n_cores: int = 1

    def parts(self, rows: Rows, job: Job, out: Array | None) -> Iterator[Part]:
        """Send the slices out, and yield what comes back in their order."""
        import ray

        work = ray.remote(num_cpus=1)(_found_in_slice)
        n_bytes = 8 * max(CELL, int(np.prod(job.shape)))
        n_cells = min(-(-rows.dim // (CELL * SLICES_PER_CORE * self.n_cores)), SLICE_BYTES // n_bytes)
        size = CELL * max(1, n_cells)

        def task(start: int) -> Part:
            stop = min(start + size, rows.dim)
            cut = rows.columns(start, stop)
            try:
                part, update, digests, refused = ray.get(work.remote(cut, job.on(start, stop)))
            except ray.exceptions.RayError as error:
                raise HoldfastError(
                    f"a worker of the Ray cluster failed: {getattr(error, 'cause', error)}. Each node must be"
                    " able to read the files at the same paths"
                ) from None
            if refused is not None:
                raise NonFiniteError(*refused)
            for known, found in zip(_digests(cut), digests, strict=True):
                known[:] = found  # the next pass, by whatever worker, must find the same
            if out is not None:
                out[start:stop] = update
            whole: Part = part
            return whole

        return in_order(task, range(0, rows.dim, size), n_workers=2 * self.n_cores)


def _found_in_slice(
    rows: Rows, job: Job
) -> tuple[Part | None, Array | None, list[Array], tuple[tuple[int, ...], str] | None]:
    """Return what a worker finds in its slice: sums, update, checksums; or which rows it refuses and why."""
    update = np.empty(rows.dim, dtype=rows.dtype) if job.makes_update else None
    try:
        found = list(parts(rows, job, update))
        check_unchanged(rows)
    except NonFiniteError as error:
        return None, None, [], (error.rows, error.problem)
    counts = np.sum([part.counts for part in found], axis=0)
    cells = np.concatenate([part.cells for part in found])
    return Part(counts, cells, sum(part.n_done for part in found)), update, _digests(rows), None


def _digests(rows: Rows) -> list[Array]:
    """Return the checksums of all tensors that lie in files, to be filled in."""
    found = [getattr(tensor, "witness", None) for tensors in rows.arrays for tensor in tensors]
    return [witness.digests for witness in found if witness is not None]
