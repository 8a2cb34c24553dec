"""Passes over the updates: order statistics by coordinate, the Gram matrix, a weighted sum of rows.

Every rule is made of these. Several threads work on ranges of coordinates; what is summed over coordinates is
summed cell by cell in order, so the result has the same bits for any task size and any number of threads.
Sums over clients are in float64. A row with a value that its type cannot hold raises NonFiniteError, found in
the same pass. The loops are compiled on first use, and Numba is imported then.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..threads import in_order, n_threads
from ..updates import CELL, Rows
from .forms import MEAN, RATIO, SUM, VOTE, Found, Plan, Source
from .network import comparators
from .reader import Reader

__all__ = [
    "Clients",
    "Pass",
    "combine",
    "gram",
    "mean_ratio_trimmed",
    "noise",
    "projections",
    "redirected",
    "squared_norms",
    "trimmed_mean",
    "trimmed_mean_among",
    "vote",
]

Array = NDArray[Any]
T = TypeVar("T")

#: Most cells that a thread works on before it comes back. Never changes a result.
CELLS_PER_TASK = 16

NOTHING = np.empty(0)


@dataclass(frozen=True)
class Clients:
    """What a pass measured of each client, where the rows ask for it."""

    squares: Array  # of each update's length; last, of the aggregated update's
    dots: Array  # with the aggregated update
    opposed: Array  # coordinates in which its sign is against the majority's
    trimmed: Array | None  # coordinates in which its value lies outside the range that was averaged
    consistency: Array  # [s] counts the coordinates with |sum of signs| = s


@dataclass(frozen=True)
class Pass:
    """What a pass over the columns found: the flat update, coordinates the mask kept, measures of clients."""

    update: Array
    n_kept: int
    clients: Clients | None


def trimmed_mean(rows: Rows, *, n_trimmed: int, n_votes: int = 0) -> Pass:
    """Return the mean without the n_trimmed largest and smallest, 0 where |sum of signs| < n_votes."""
    return _sweep(rows, _plan(MEAN, rows, n_trimmed=n_trimmed, n_votes=n_votes))


def trimmed_mean_among(rows: Rows, chosen: Array, *, n_trimmed: int) -> Pass:
    """Return the trimmed mean of the chosen rows. The others have no say, and count as trimmed everywhere."""
    if not rows.explain:
        return trimmed_mean(rows.select(chosen), n_trimmed=n_trimmed)
    # The first rows are aggregated; the others come along only to be measured.
    order = np.concatenate([chosen, np.setdiff1d(np.arange(len(rows)), chosen)])
    reordered = rows.select(order)
    seen = _sweep(reordered, _plan(MEAN, reordered, n_used=len(chosen), n_trimmed=n_trimmed))
    assert seen.clients is not None
    assert seen.clients.trimmed is not None
    seen.clients.trimmed[len(chosen) :] = rows.dim
    return replace(seen, clients=_reordered(seen.clients, np.argsort(order)))


def mean_ratio_trimmed(rows: Rows, *, n_trimmed: int, kappa: float) -> Pass:
    """Return the trimmed mean where |mean| / standard deviation >= kappa, else 0."""
    return _sweep(rows, _plan(RATIO, rows, n_trimmed=n_trimmed, kappa=kappa))


def combine(
    rows: Rows,
    weights: Array,
    *,
    n_votes: int = 0,
    below: float = 0.0,
    beside: tuple[float, Array] | None = None,
) -> Pass:
    """Return the weighted sum of rows, times `below` where |sum of signs| < n_votes.

    `beside` is a weight and a flat update of the server's own, added to the sum.
    """
    weight, own = beside or (0.0, NOTHING)
    plan = _plan(SUM, rows, n_votes=n_votes, below=below)
    return _sweep(
        rows,
        plan._replace(
            weights=np.ascontiguousarray(weights, dtype=np.float64),
            beside=np.ascontiguousarray(own, dtype=rows.dtype),
            beside_weight=float(weight),
        ),
    )


def vote(rows: Rows, *, step: float) -> Pass:
    """Return step times the sign that the majority of clients has; 0 for a tie."""
    return _sweep(rows, _plan(VOTE, rows, step=step))


def gram(rows: Rows, *, beside: Array | None = None) -> Array:
    """Return the dot products of all pairs of rows, in float64; `beside` is one more, last row."""
    from . import sums

    size = len(rows) + (beside is not None)
    padded = -(-size // 4) * 4  # four rows are taken at a time
    upper = np.triu(_summed(rows, sums.gram, beside, (padded, padded))[:size, :size])
    products = upper + np.triu(upper, 1).T
    _check_lengths(rows, products.diagonal())
    return products


def squared_norms(rows: Rows) -> Array:
    """Return the squared length of each row, in float64."""
    from . import sums

    squares = np.asarray(_summed(rows, sums.projections, None, (2, len(rows)))[0])
    _check_lengths(rows, squares)
    return squares


def projections(rows: Rows, onto: Array) -> tuple[Array, Array]:
    """Return the squared lengths, and the dot products with `onto`, of each row and, last, of `onto`."""
    from . import sums

    squares, dots = _summed(rows, sums.projections, onto, (2, len(rows) + 1))
    _check_lengths(rows, squares)
    return squares, dots


def redirected(seen: Pass, rows: Rows, update: Array) -> Pass:
    """Return the pass with another update in its place, its clients measured against that one."""
    if seen.clients is None:
        return replace(seen, update=update)
    squares, dots = projections(rows, update)
    return replace(seen, update=update, clients=replace(seen.clients, squares=squares, dots=dots[:-1]))


def noise(rng: np.random.Generator, *, dim: int, sigma: float, dtype: np.dtype[Any]) -> Array:
    """Return normal noise, drawn cell by cell so that any part of it can be drawn alone."""
    seed = int(rng.integers(2**63))
    drawn = np.empty(dim, dtype=dtype)

    def draw(number: int) -> None:
        cell = drawn[number * CELL : (number + 1) * CELL]
        cell[:] = sigma * np.random.default_rng([seed, number]).standard_normal(cell.size)

    for _ in in_order(draw, range(-(-dim // CELL))):
        pass
    return drawn


def _plan(
    mode: int,
    rows: Rows,
    *,
    n_used: int | None = None,
    n_trimmed: int = 0,
    n_votes: int = 0,
    below: float = 0.0,
    kappa: float = 0.0,
    step: float = 0.0,
) -> Plan:
    used = len(rows) if n_used is None else n_used
    return Plan(
        mode=mode,
        n_used=used,
        n_trimmed=n_trimmed,
        pairs=comparators(used, n_trimmed),
        n_votes=n_votes,
        below=float(below),
        weights=NOTHING,
        beside=np.empty(0, dtype=rows.dtype),
        beside_weight=0.0,
        kappa=float(kappa),
        step=float(step),
        # The mean of float32 values, taken in float64, cannot leave their range when it is rounded back.
        needs_range=rows.explain or rows.dtype == np.float64,
        explain=rows.explain,
    )


def _sweep(rows: Rows, plan: Plan) -> Pass:
    """Return what the plan makes of every column, with the clients measured on the way if asked for."""
    from .columns import sweep

    update = np.empty(rows.dim, dtype=rows.dtype)

    def work(source: Source, start: int, stop: int) -> Found:
        found = _nothing_found(len(rows), -(-(stop - start) // CELL) if rows.explain else 0)
        sweep(source, plan, start, stop, CELL, update, found)
        return found

    tasks = list(_tasks(rows, work))
    rows.refuse(np.sum([found.bad for found in tasks], axis=0))
    n_kept = int(sum(found.kept[0] for found in tasks))
    if not rows.explain:
        return Pass(update, n_kept, None)
    squares, dots = np.zeros(len(rows) + 1), np.zeros(len(rows) + 1)
    for found in tasks:
        for cell_squares, cell_dots in zip(found.squares, found.dots, strict=True):
            squares, dots = squares + cell_squares, dots + cell_dots
    clients = Clients(
        squares=squares,
        dots=dots[:-1],
        opposed=np.sum([found.opposed for found in tasks], axis=0),
        trimmed=np.sum([found.trimmed for found in tasks], axis=0) if plan.mode in (MEAN, RATIO) else None,
        consistency=np.sum([found.consistency.reshape(4, -1) for found in tasks], axis=(0, 1)),
    )
    return Pass(update, n_kept, clients)


def _nothing_found(n_rows: int, n_cells: int) -> Found:
    whole = np.zeros(n_rows, dtype=np.int64)
    measures = np.zeros((n_cells, n_rows + 1))
    consistency = np.zeros(4 * (n_rows + 1), dtype=np.int64)
    kept = np.zeros(1, dtype=np.int64)
    return Found(whole, kept, measures, measures.copy(), whole.copy(), whole.copy(), consistency)


def _summed(rows: Rows, loop: Callable[..., None], beside: Array | None, shape: tuple[int, int]) -> Array:
    """Return what a loop of dot products adds up over the cells, strictly in order."""
    own = np.ascontiguousarray(NOTHING if beside is None else beside, dtype=rows.dtype)
    n_bad = np.zeros(len(rows), dtype=np.int64)

    def work(source: Source, start: int, stop: int) -> tuple[list[Array], Array]:
        bad = np.zeros(len(rows), dtype=np.int64)
        cells = []
        for cell in range(start, stop, CELL):
            cells.append(np.zeros(shape))
            loop(source, own, cell, min(cell + CELL, stop), cells[-1], bad)
        return cells, bad

    total = np.zeros(shape)
    for cells, bad in _tasks(rows, work, bytes_per_cell=total.nbytes):
        n_bad += bad
        for cell in cells:
            total += cell
    rows.refuse(n_bad)
    return total


def _tasks(rows: Rows, work: Callable[[Source, int, int], T], *, bytes_per_cell: int = 0) -> Iterator[T]:
    """Yield work(addresses, start, stop) over all coordinates, in order, done by several threads."""
    reader = Reader.of(rows)
    n_cells = -(-rows.dim // CELL)
    most = CELLS_PER_TASK if reader.is_in_place else 1  # copies of a task's piece should stay small
    few = max(1, (16 << 20) // max(bytes_per_cell, 1))  # and so should what it brings back
    cells = max(1, min(most, few, -(-n_cells // (4 * n_threads()))))

    def task(start: int) -> T:
        stop = min(start + cells * CELL, rows.dim)
        source, copies = reader.at(start, stop)
        result = work(source, start, stop)
        del copies  # not before: the source points into them
        return result

    return in_order(task, range(0, rows.dim, cells * CELL))


def _reordered(clients: Clients, order: Array) -> Clients:
    assert clients.trimmed is not None
    return replace(
        clients,
        squares=clients.squares[[*order, len(order)]],
        dots=clients.dots[order],
        opposed=clients.opposed[order],
        trimmed=clients.trimmed[order],
    )


def _check_lengths(rows: Rows, squares: Array) -> None:
    """Refuse rows, the server's own among them, whose squared distances could overflow."""
    is_long = ~(squares < np.finfo(np.float64).max / (8 * len(squares)))
    rows.refuse(is_long[: len(rows)], "values so large that their length overflows")
    if is_long.any():
        raise InputError(
            "the server's own update (reference or previous) is so long that its square overflows"
        )
