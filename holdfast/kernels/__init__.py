"""Passes over the updates: order statistics by coordinate, the Gram matrix, a weighted sum of rows.

Every rule is made of these. Several threads work on ranges of coordinates; what is summed over coordinates is
summed cell by cell in order, so the result has the same bits for any task size and any number of threads.
Sums over clients are in float64. A row with a value that its type cannot hold raises NonFiniteError, found in
the same pass. The loops are compiled on first use, and Numba is imported then.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.threads import in_order
from ..errors import InputError
from ..updates.rows import CELL, Rows
from . import pairs
from ._forms import MAGNITUDE, MEAN, NEAREST, RATIO, SUM, VOTE, Election, Plan, Weighing
from ._network import comparators, sorters
from .passes import Job, run, split_counts

__all__ = [
    "Clients",
    "Pass",
    "combine",
    "gram",
    "magnitudes",
    "mean_ratio_trimmed",
    "nearest_mean_among",
    "noise",
    "projections",
    "redirected",
    "squared_norms",
    "swept",
    "trimmed_mean",
    "trimmed_mean_among",
    "trimmed_mean_magnitude",
    "vote",
]

Array = NDArray[Any]

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
    return _among(rows, chosen, MEAN, n_trimmed)


def trimmed_mean_magnitude(rows: Rows, *, n_trimmed: int) -> Pass:
    """Return the mean of the magnitudes without the n_trimmed largest and smallest of them."""
    return _sweep(rows, _plan(MAGNITUDE, rows, n_trimmed=n_trimmed))


def nearest_mean_among(rows: Rows, chosen: Array, *, n_trimmed: int) -> Pass:
    """Return the mean of the chosen rows' values less the 2 n_trimmed furthest from the median."""
    return _among(rows, chosen, NEAREST, n_trimmed)


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
    skips: bool = False,
) -> Pass:
    """Return the weighted sum of rows, times `below` where |sum of signs| < n_votes.

    `beside` is a weight and a flat update of the server's own, added to the sum. If it `skips`, rows without
    weight are not read again: an earlier pass has found that their values are finite.
    """
    if skips and not rows.explain and n_votes == 0 and (weights != 0).any():
        rows, weights = rows.select(np.flatnonzero(weights)), weights[weights != 0]
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
    size = len(rows) + (beside is not None)
    if rows.home is None and rows.mixing is None and size > 2 * pairs.BLOCK:
        n_bad, products = pairs.gram(rows, _own(rows, beside))
        rows.refuse(n_bad)
    else:
        padded = -(-size // 4) * 4  # four rows are taken at a time
        upper = np.triu(_summed(rows, "gram", beside, (padded, padded))[:size, :size])
        products = upper + np.triu(upper, 1).T
    _check_lengths(rows, products.diagonal())
    return products


def squared_norms(rows: Rows) -> Array:
    """Return the squared length of each row, in float64."""
    squares = np.asarray(_summed(rows, "projections", None, (2, len(rows)))[0])
    _check_lengths(rows, squares)
    return squares


def magnitudes(rows: Rows) -> Array:
    """Return the sum of magnitudes of each row, its Manhattan length, in float64."""
    return np.asarray(_summed(rows, "magnitudes", None, (1, len(rows)))[0])


def projections(rows: Rows, onto: Array) -> tuple[Array, Array]:
    """Return the squared lengths, and the dot products with `onto`, of each row and, last, of `onto`."""
    squares, dots = _summed(rows, "projections", onto, (2, len(rows) + 1))
    _check_lengths(rows, squares)
    return squares, dots


def redirected(seen: Pass, rows: Rows, update: Array) -> Pass:
    """Return the pass with another update in its place, its clients measured against that one."""
    if seen.clients is None:
        return replace(seen, update=update)
    squares, dots = projections(rows, update)
    return replace(seen, update=update, clients=replace(seen.clients, squares=squares, dots=dots[:-1]))


def noise(rows: Rows, rng: np.random.Generator, *, sigma: float) -> Array:
    """Return normal noise, drawn cell by cell so that any part of it can be drawn alone."""
    seed = int(rng.integers(2**63))
    drawn = rows.empty()

    def draw(number: int) -> None:
        cell = drawn[number * CELL : (number + 1) * CELL]
        cell[:] = sigma * np.random.default_rng([seed, number]).standard_normal(cell.size)

    for _ in in_order(draw, range(-(-rows.dim // CELL))):
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
        pairs=sorters(used) if mode == NEAREST else comparators(used, n_trimmed),
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


def _among(rows: Rows, chosen: Array, mode: int, n_trimmed: int) -> Pass:
    """Return what comes of the chosen rows; if asked for, all are measured."""
    others = np.setdiff1d(np.arange(len(rows)), chosen) if rows.explain else chosen[:0]
    # The first rows are aggregated; the others come along only to be measured.
    order = np.concatenate([chosen, others])
    reordered = rows.select(order)
    seen = _sweep(reordered, _plan(mode, reordered, n_used=len(chosen), n_trimmed=n_trimmed))
    if seen.clients is None:
        return seen
    assert seen.clients.trimmed is not None
    seen.clients.trimmed[len(chosen) :] = rows.dim
    return replace(seen, clients=_reordered(seen.clients, np.argsort(order)))


def _sweep(rows: Rows, plan: Plan) -> Pass:
    """Return what the plan makes of every column, with the clients measured on the way if asked for."""
    return swept(rows, "sweep", plan, plan.beside, trims=plan.mode in (MEAN, RATIO, NEAREST))


def swept(
    rows: Rows, loop: str, plan: Plan | Weighing | Election, beside: Array = NOTHING, *, trims: bool
) -> Pass:
    """Return what a loop makes of every column by its plan, and what it measures of the clients."""
    n, update = len(rows), rows.empty()
    counts, sums = run(rows, Job(loop, (2, n + 1) if rows.explain else (0,), beside, plan), update)
    bad, kept, opposed, trimmed, consistency = split_counts(counts, n)
    rows.refuse(bad)
    if not rows.explain:
        return Pass(update, int(kept[0]), None)
    clients = Clients(
        squares=sums[0],
        dots=sums[1, :-1],
        opposed=opposed,
        trimmed=trimmed if trims else None,
        consistency=consistency.reshape(4, -1).sum(axis=0),
    )
    return Pass(update, int(kept[0]), clients)


def _summed(rows: Rows, loop: str, beside: Array | None, shape: tuple[int, int]) -> Array:
    """Return what a loop of dot products adds up over the cells, strictly in order."""
    n_bad, total = run(rows, Job(loop, shape, _own(rows, beside)))
    rows.refuse(n_bad)
    return total


def _own(rows: Rows, beside: Array | None) -> Array:
    """Return the server's own row as the loops take it, empty if there is none."""
    return np.ascontiguousarray(NOTHING if beside is None else beside, dtype=rows.dtype)


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
