"""A pass over the rows as a value, and what becomes of it: done here, by threads, or wherever the rows say.

What a pass finds is whole numbers, which may be added in any order, and for each cell of the grid sums in
float64, which are added in the order of the cells. So a pass can be cut anywhere between two cells.
"""

import math
import sys
from collections.abc import Iterable, Iterator
from functools import cache
from importlib import import_module
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.threads import for_each, in_order, n_threads
from ..updates.rows import CELL, Rows
from . import _direct
from ._forms import FLOAT32, FLOAT64, MEAN, SUM, Election, Found, Plan, Source, Tally, Weighing
from ._reader import Reader

__all__ = ["Job", "Part", "Total", "added", "parts", "run", "split_counts"]

Array = NDArray[Any]

#: Most cells that a thread works on before it comes back. Never changes a result.
CELLS_PER_TASK = 16
#: Of fewer values, one thread makes an update sooner than several that must be woken. Never changes a result.
FEW_VALUES = 1 << 22
#: Bytes that a task reads from files: long reads, but few enough to be worked on in the caches.
READ_BYTES = 16 << 20
#: Where the compiled loops are that make an update, and those that only count.
SWEEPS = {"sweep": "_columns", "weighted": "_weighted", "elected": "_elections"}
COUNTS = {"digits": "_largest", "agreements": "_largest", "concordance": "_elections"}


class Job(NamedTuple):
    """One pass: which loop, and what it is given beside the rows."""

    loop: str  # of SWEEPS or COUNTS, or else one that adds sums
    shape: tuple[int, ...]  # of the sums that each cell adds
    beside: Array  # one more row, flat, or empty
    plan: Plan | Weighing | Election | Tally | None = None  # of a sweep or a count

    @property
    def makes_update(self) -> bool:
        """Whether it fills in one value per column."""
        return self.loop in SWEEPS

    def on(self, start: int, stop: int) -> "Job":
        """Return the same pass for these columns alone, counted from 0."""
        beside = self.beside[start:stop]
        plan = self.plan._replace(beside=beside) if isinstance(self.plan, Plan) else self.plan
        return self._replace(beside=beside, plan=plan)


class Part(NamedTuple):
    """What was found in some cells that follow one another."""

    counts: NDArray[np.int64]
    cells: NDArray[np.float64]  # [cell, ...]
    n_done: int = 0  # how many cells it is of, for whoever watches


class Total(NamedTuple):
    """What was found in all cells."""

    counts: NDArray[np.int64]
    sums: NDArray[np.float64]


def run(rows: Rows, job: Job, out: Array | None = None) -> Total:
    """Do the pass, here or where the rows are at home; a sweep fills `out`."""
    if rows.home is not None:
        total: Total = rows.home.run(rows, job, out)
        return total
    return added(job, parts(rows, job, out))


def added(job: Job, found: Iterable[Part]) -> Total:
    """Return the sum of all parts, which must come in order."""
    counts, sums = np.zeros(1, dtype=np.int64), np.zeros(job.shape)
    for part in found:
        counts = counts + part.counts
        for cell in part.cells:
            sums += cell
    return Total(counts, sums)


def parts(rows: Rows, job: Job, out: Array | None = None, *, n_workers: int | None = None) -> Iterator[Part]:
    """Yield what is found, in order, done by several threads; a sweep fills `out`."""
    reader = Reader.of(rows)
    n_cells = -(-rows.dim // CELL)
    most = cells_at_once(rows, reader.is_in_place)
    few = max(1, (16 << 20) // max(8 * math.prod(job.shape), 1))  # and so should what it brings back
    is_short = job.makes_update and len(rows) * rows.dim < FEW_VALUES
    n_workers = 1 if is_short else n_workers or n_threads()
    cells = max(1, min(most, few, -(-n_cells // (1 if is_short else 4 * n_threads()))))

    code = _straight_code(rows, job, _direct.is_plain(reader.source))

    def task(start: int) -> Part:
        stop = min(start + cells * CELL, rows.dim)
        source, copies = reader.at(start, stop)
        if job.makes_update:
            found = _swept(source, job, code, start, stop, out)
        else:
            found = (_counted if job.loop in COUNTS else _summed)(source, job, code, start, stop)
        del copies  # not before: the source points into them
        return found

    starts = range(0, rows.dim, cells * CELL)
    if is_short or not (job.makes_update and reader.is_in_place and rows.home is None):
        return in_order(task, starts, n_workers=n_workers)
    found: dict[int, Part] = {}  # little beside the rows, so it may wait until all is done
    for_each(lambda start: found.update({start: task(start)}), starts)
    return (found[start] for start in starts)


def split_counts(counts: Array, n_rows: int) -> tuple[Array, Array, Array, Array, Array]:
    """Return the parts of what a sweep counts: see `Found`.

    >>> [part.size for part in split_counts(np.zeros(18), 2)]
    [2, 1, 2, 2, 11]
    """
    bad, kept, opposed, trimmed = n_rows, n_rows + 1, 2 * n_rows + 1, 3 * n_rows + 1
    return counts[:bad], counts[bad:kept], counts[kept:opposed], counts[opposed:trimmed], counts[trimmed:]


@cache
def _module(name: str) -> Any:
    """Return a module of compiled loops, or of what compiles them, which is imported on first use."""
    return import_module(f".{name}", __package__)


def cells_at_once(rows: Rows, is_in_place: bool) -> int:
    """Return the most cells that a task may take: copies of a task's piece should stay small."""
    if is_in_place:
        return CELLS_PER_TASK
    is_stored = any(not isinstance(array, np.ndarray) for arrays in rows.arrays for array in arrays[:1])
    return max(1, min(4, READ_BYTES // ((rows.n_held + 1) * CELL * rows.dtype.itemsize))) if is_stored else 1


def _straight_code(rows: Rows, job: Job, is_plain: bool) -> int:
    """Return where code made for just such rows lies; 0 if there is none."""
    shape: Any = None
    if isinstance(job.plan, Plan):
        shape = _shape_of(rows, job.plan)
    elif job.loop == "gram" and is_plain:
        shape = _products_of(rows, job)
    if shape is None:
        return 0
    at_once = is_plain and not _are_loaded("_sums" if job.loop == "gram" else "_columns")
    address: int = _module("_tiers").address_of(shape, n_values=len(rows) * rows.dim, at_once=at_once)
    return address


def _shape_of(rows: Rows, plan: Plan) -> Any:
    """Return what straight code there would be for the plan; None if there is none."""
    is_sum = plan.mode == SUM and plan.n_votes == 0 and plan.beside.size == 0
    if plan.n_used < len(rows) or (plan.mode != MEAN and not is_sum):
        return None
    n_trimmed = 0 if is_sum else plan.n_trimmed
    settings = n_trimmed, _kind_of(rows), plan.n_votes > 0, _has_base(rows), plan.explain, is_sum
    return _module("_straight").Shape(len(rows), *settings)


def _products_of(rows: Rows, job: Job) -> Any:
    """Return what straight code there would be for the products of rows; None if there is none."""
    from ._products import MOST_ROWS, Products

    n = len(rows) + (job.beside.size > 0)
    return Products(n, _kind_of(rows), _has_base(rows), job.beside.size > 0) if n <= MOST_ROWS else None


def _kind_of(rows: Rows) -> int:
    return FLOAT32 if rows.dtype == np.float32 else FLOAT64


def _has_base(rows: Rows) -> bool:
    return rows.base is not None and rows.mixing is None  # sums of rows are already less the base


def _are_loaded(name: str) -> bool:
    """Return whether a module of compiled loops is there already."""
    return f"{__package__}.{name}" in sys.modules


def _swept(source: Source, job: Job, code: int, start: int, stop: int, out: Array | None) -> Part:
    n, explain = source.addresses.shape[1], len(job.shape) > 1
    counts = np.zeros(3 * n + 1 + 4 * (n + 1), dtype=np.int64)
    bad, kept, opposed, trimmed, consistency = split_counts(counts, n)
    n_cells = -(-(stop - start) // CELL)
    squares, dots = np.zeros((2, n_cells if explain else 0, n + 1))
    found = Found(bad, kept, squares, dots, opposed, trimmed, consistency)
    is_direct = code != 0 and not _are_loaded("_columns") and _direct.is_plain(source)
    sweep: Any = _direct.sweep if is_direct else _module(SWEEPS[job.loop]).sweep
    plan = (job.plan, code) if job.loop == "sweep" else (job.plan,)
    sweep(source, *plan, start, stop, CELL, out, found)
    cells = np.stack([squares, dots], axis=1) if explain else np.zeros((0, *job.shape))
    return Part(counts, cells, n_cells)


def _counted(source: Source, job: Job, _: int, start: int, stop: int) -> Part:
    assert isinstance(job.plan, Tally)
    count = getattr(_module(COUNTS[job.loop]), job.loop)
    n = source.addresses.shape[1]
    counts = np.zeros(n * (1 + job.plan.n_counts), dtype=np.int64)
    count(source, job.plan, start, stop, counts[:n], counts[n:].reshape(n, -1))
    return Part(counts, np.zeros((0, *job.shape)), -(-(stop - start) // CELL))


def _summed(source: Source, job: Job, code: int, start: int, stop: int) -> Part:
    bad = np.zeros(source.addresses.shape[1], dtype=np.int64)
    cells = np.zeros((-(-(stop - start) // CELL), *job.shape))
    is_direct = code != 0 and _direct.is_plain(source)
    for cell, at in zip(cells, range(start, stop, CELL), strict=True):
        end = min(at + CELL, stop)
        if is_direct:
            _direct.gram(source, job.beside, code, at, end, cell, bad)
        elif job.loop == "gram":
            _module("_sums").gram(source, job.beside, at, end, 0, cell, bad)
        elif job.loop == "magnitudes":
            _module("_magnitudes").magnitudes(source, job.beside, at, end, cell, bad)
        else:
            _module("_sums").projections(source, job.beside, at, end, cell, bad)
    return Part(bad, cells, len(cells))
