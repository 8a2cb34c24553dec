"""RFA: the geometric median of the updates."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kernels
from .._support.counting import check_whole
from ..core import Aggregate, rule
from ..updates.rows import Updates, rows_of
from .geometry import distances_to_sum, gram_around, is_hidden, squared_distances
from .outcome import weighted_sum
from .settings import check_positive, shares, weight_notes

__all__ = ["rfa"]

PROMISE = "the update stays within a bounded distance of the honest clients' updates"

Array = NDArray[np.float64]


@rule
def rfa(
    updates: Updates,
    *,
    n_steps: int = 1000,
    smoothing: float = 1e-6,
    tolerance: float = 1e-7,
    weights: ArrayLike | None = None,
) -> Aggregate:
    """Return the weighted geometric median, by the smoothed Weiszfeld algorithm from the mean.

    Pillutla et al., 2022, https://arxiv.org/abs/1912.13445. Stops after n_steps, or when no
    weight changes by more than the tolerance, relatively. If it has not settled by then, it starts again from
    the middle of the crowd, which rows far away cannot move; with a tolerance of 0 it takes n_steps from the
    mean and no more. The steps work on the rows' dot products alone.

    >>> rfa(np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 0.1], [9.0, 9.0]])).update.round(2)
    array([1. , 0.1])
    """
    check_whole("n_steps", n_steps, at_least=1)
    check_positive("smoothing", smoothing)
    check_positive("tolerance", tolerance, or_zero=True)
    rows = rows_of(updates)
    client_shares = shares(weights, len(rows))
    gram = kernels.gram(rows)
    settings = {"smoothing": smoothing, "tolerance": tolerance}
    client_weights, has_converged = weiszfeld(gram, client_shares, client_shares, n_steps, **settings)
    center = int(client_weights.argmax())
    if is_hidden(gram, center, float(np.median(squared_distances(gram, slice(center, center + 1))))):
        gram = gram_around(rows, center)
        client_weights, has_converged = weiszfeld(gram, client_shares, client_shares, n_steps, **settings)
    if not has_converged and tolerance > 0:
        start = crowd(gram, client_shares)
        client_weights, has_converged = weiszfeld(gram, client_shares, start, n_steps, **settings)
    # Half of the mass must be honest: count how many of the heaviest clients stay below half.
    n_tolerated = int(np.searchsorted(np.cumsum(np.sort(client_shares)[::-1]), 0.5 - 1e-12))
    notes = weight_notes(client_shares)
    if not has_converged:
        stopped = f"stopped after {n_steps} steps, before it had settled"
        notes += (f"{stopped}: this is not the geometric median yet",)
    covered = n_tolerated > 0 and has_converged
    return weighted_sum(
        "rfa", rows, client_weights, covered=covered, tolerates=n_tolerated, promise=PROMISE, notes=notes
    )


def weiszfeld(
    gram: Array, shares: Array, start: Array, n_steps: int, *, smoothing: float, tolerance: float
) -> tuple[Array, bool]:
    """Return the weights whose sum of rows is the geometric median, and whether they have settled."""
    weights = start
    for _ in range(n_steps):
        pulls = shares / np.maximum(smoothing, distances_to_sum(gram, weights))
        last, weights = weights, pulls / pulls.sum()
        # The published test, on the summed distance, is the attacker's to pass: beside rows of 1e38 that sum
        # stands still long before the median is near the honest rows. The weights do not, and with nine such
        # rows in twenty they need some hundred steps.
        if (np.abs(weights - last) <= tolerance * last).all():
            return weights, True
    return weights, False


def crowd(gram: Array, shares: Array) -> Array:
    """Return the weights of a mean of the rows that lie closest together and have more than half the weight.

    Less than half cannot move it: whatever ball holds more than half holds honest rows, and the smallest one
    is no larger than theirs. Of balls that are equally small all count, so that no order of the rows does.
    """
    squares = gram.diagonal()

    def distances(row: int) -> Array:
        return np.asarray(squares[row] + squares - 2 * gram[row])

    def radius(row: int) -> float:
        own = distances(row)
        order = np.argsort(own, kind="stable")
        n_inside = int(np.searchsorted(np.cumsum(shares[order]), 0.5 + 1e-12, side="right")) + 1
        return float(own[order[:n_inside][-1]])

    radii = np.array([radius(row) for row in range(len(gram))])
    balls = [shares * (distances(row) <= radii[row]) for row in np.flatnonzero(radii == radii.min()).tolist()]
    weights = sum(ball / ball.sum() for ball in balls)
    return np.asarray(weights / len(balls))
