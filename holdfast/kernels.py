"""Passes over the updates: order statistics by coordinate, the Gram matrix, a weighted sum of rows.

Every rule is made of these. Blocks of columns are worked on by several threads; what is summed over
coordinates is summed cell by cell in order, so the result has the same bits for any blocking and any
number of threads. Sums over clients are in float64. A row with a value that its type cannot hold raises
NonFiniteError, found in the same pass.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .errors import NonFiniteError
from .threads import in_order
from .updates import CELL, Rows

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
    "vote",
]

Array = NDArray[Any]

#: Bytes of updates that one thread works on at a time.
BLOCK_BYTES = 4 << 20


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


@dataclass(frozen=True)
class Columns:
    """A block's result: one value a coordinate, what the mask kept, the range of values that was averaged."""

    values: Array
    is_kept: Array | None = None
    low: Array | None = None
    high: Array | None = None


def gram(rows: Rows, *, beside: Array | None = None) -> Array:
    """Return the dot products of all pairs of rows, in float64; `beside` is one more, last row."""

    def products(cell: Array, at: slice) -> Array:
        stacked = cell if beside is None else np.vstack([cell, beside[at]])
        return stacked @ stacked.T

    products_of_all = _cell_sum(rows, products)
    _check_lengths(rows, products_of_all.diagonal())
    return products_of_all


def squared_norms(rows: Rows) -> Array:
    """Return the squared length of each row, in float64."""
    squares = _cell_sum(rows, lambda cell, at: (cell * cell).sum(axis=1))
    _check_lengths(rows, squares)
    return squares


def projections(rows: Rows, onto: Array) -> tuple[Array, Array]:
    """Return the squared lengths, and the dot products with `onto`, of each row and, last, of `onto`."""

    def sums(cell: Array, at: slice) -> Array:
        stacked = np.vstack([cell, onto[at]])
        return np.stack([(stacked * stacked).sum(axis=1), (stacked * stacked[-1]).sum(axis=1)], axis=1)

    squares, dots = _cell_sum(rows, sums).T
    _check_lengths(rows, squares)
    return squares, dots


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

    def columns(block: Array, at: slice) -> Columns:
        values = np.zeros(block.shape[1])
        for weight, row in zip(weights, block, strict=True):
            values += weight * row.astype(np.float64)
        if beside is not None:
            values += beside[0] * beside[1][at].astype(np.float64)
        is_kept = np.abs(sign_sums(block)) >= n_votes
        return Columns(np.where(is_kept, values, below * values), is_kept)

    return _sweep(rows, columns)


def trimmed_mean(rows: Rows, *, n_trimmed: int, n_votes: int = 0, among: Array | None = None) -> Pass:
    """Return the mean without the n_trimmed largest and smallest, 0 where |sum of signs| < n_votes.

    `among` are the rows it is the mean of, by default all.
    """

    def columns(block: Array, at: slice) -> Columns:
        values, low, high = _middle_mean(block if among is None else block[among], n_trimmed)
        is_kept = np.abs(sign_sums(block)) >= n_votes
        return Columns(np.where(is_kept, values, 0.0), is_kept, low, high)

    return _sweep(rows, columns)


def mean_ratio_trimmed(rows: Rows, *, n_trimmed: int, kappa: float) -> Pass:
    """Return the trimmed mean where |mean| / standard deviation >= kappa, else 0."""

    def columns(block: Array, at: slice) -> Columns:
        values, low, high = _middle_mean(block, n_trimmed)
        doubles = block.astype(np.float64)
        mean, deviation = doubles.mean(axis=0), doubles.std(axis=0, ddof=1)
        is_kept = np.where(deviation > 0, np.abs(mean) >= kappa * deviation, mean != 0)
        return Columns(np.where(is_kept, values, 0.0), is_kept, low, high)

    return _sweep(rows, columns)


def vote(rows: Rows, *, step: float) -> Pass:
    """Return step times the sign that the majority of clients has; 0 for a tie."""
    return _sweep(rows, lambda block, at: Columns(step * np.sign(sign_sums(block))))


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
    for number, cell in enumerate(_cells(dim)):
        drawn[cell] = sigma * np.random.default_rng([seed, number]).standard_normal(drawn[cell].size)
    return drawn


def sign_sums(block: Array) -> Array:
    """Return the sum of signs of each coordinate, as whole numbers."""
    return np.asarray((block > 0).sum(axis=0, dtype=np.int32) - (block < 0).sum(axis=0, dtype=np.int32))


def _middle_mean(block: Array, n_trimmed: int) -> tuple[Array, Array, Array]:
    """Return the mean of the middle order statistics, the smallest and the largest of them."""
    middle = np.sort(block, axis=0)[n_trimmed : len(block) - n_trimmed]
    low, high = middle[0], middle[-1]
    with np.errstate(over="ignore"):
        mean = middle.mean(axis=0, dtype=np.float64)
    # Rounding, or the sum of huge doubles, must not take the mean outside the values it is made of.
    return np.clip(mean, low, high), low, high


def _sweep(rows: Rows, columns: Callable[[Array, slice], Columns]) -> Pass:
    """Return what `columns` makes of every block, with the clients measured on the way if asked for."""
    update = np.empty(rows.dim, dtype=rows.dtype)

    def work(block: Array, at: slice) -> tuple[int, list[Clients]]:
        result = columns(block, at)
        update[at] = result.values
        n_kept = block.shape[1] if result.is_kept is None else int(np.count_nonzero(result.is_kept))
        return n_kept, list(_measured(block, update[at], result)) if rows.explain else []

    n_kept = 0
    measured: list[Clients] = []
    for kept, cells in _over_blocks(rows, work):
        n_kept += kept
        measured = [_total([*measured, *cells])] if cells else []
    return Pass(update, n_kept, measured[0] if measured else None)


def _measured(block: Array, update: Array, result: Columns) -> Iterator[Clients]:
    sums = sign_sums(block)
    is_opposed = np.sign(block) * np.sign(sums) < 0
    is_trimmed = None
    if result.low is not None and result.high is not None:
        is_trimmed = (block < result.low) | (block > result.high)
    for cell in _cells(block.shape[1]):
        doubles, target = block[:, cell].astype(np.float64), update[cell].astype(np.float64)
        yield Clients(
            squares=np.append((doubles * doubles).sum(axis=1), (target * target).sum()),
            dots=(doubles * target).sum(axis=1),
            opposed=is_opposed[:, cell].sum(axis=1),
            trimmed=None if is_trimmed is None else is_trimmed[:, cell].sum(axis=1),
            consistency=np.bincount(np.abs(sums[cell]), minlength=len(block) + 1),
        )


def _total(cells: list[Clients]) -> Clients:
    """Return the cells' measures added up, strictly in order."""
    total = vars(cells[0])
    for cell in cells[1:]:
        total = {name: None if value is None else value + vars(cell)[name] for name, value in total.items()}
    return Clients(**total)


def _over_blocks(rows: Rows, work: Callable[[Array, slice], Any]) -> Iterator[Any]:
    """Yield work(block, where it lies) for each block in order; raise if a row holds what it cannot."""
    width = CELL * max(1, BLOCK_BYTES // (CELL * len(rows) * rows.dtype.itemsize))
    is_bad = np.zeros(len(rows), dtype=bool)

    def guarded(start: int) -> Any:
        at = slice(start, min(start + width, rows.dim))
        block = rows.block(at.start, at.stop)
        is_fine = (np.abs(block) <= rows.limits(at.start, at.stop)).all(axis=1)
        if is_fine.all():
            return work(block, at)
        np.logical_or(is_bad, ~is_fine, out=is_bad)
        return None

    for result in in_order(guarded, range(0, rows.dim, width)):
        if not is_bad.any():
            yield result
    if is_bad.any():
        raise NonFiniteError(tuple(np.flatnonzero(is_bad).tolist()))


def _cell_sum(rows: Rows, of: Callable[[Array, slice], Array]) -> Array:
    """Return the sum of `of(cell in float64, where it lies)` over the cells, strictly in order."""

    def partials(block: Array, at: slice) -> list[Array]:
        with np.errstate(over="ignore", invalid="ignore"):
            return [
                of(block[:, cell].astype(np.float64), slice(at.start + cell.start, at.start + cell.stop))
                for cell in _cells(block.shape[1])
            ]

    total: Array | None = None
    for parts in _over_blocks(rows, partials):
        for part in parts:
            total = part if total is None else total + part
    assert total is not None  # an update has at least one coordinate
    return total


def _check_lengths(rows: Rows, squares: Array) -> None:
    overflowing = np.flatnonzero(~np.isfinite(squares[: len(rows)]))
    if overflowing.size:
        raise NonFiniteError(tuple(overflowing.tolist()), "values so large that their length overflows")


def _cells(width: int) -> Iterator[slice]:
    return (slice(start, min(start + CELL, width)) for start in range(0, width, CELL))
