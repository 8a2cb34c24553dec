"""Compiled: splits of points in a few dimensions in two, each improved step by step.

Every sum is added up in one order, that of the points or that along a line, so that neither the number of
threads nor the compiler changes a bit.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ._machine import compiled, inner
from ._orders import deal_out, put_in_order, ranked

__all__ = ["refined_splits"]

Array = NDArray[Any]

#: All points are compared with each other to find their order, unless there are more.
N_COMPARED = 256
#: A split is improved so often, at most, and while its score rises by more than that.
N_STEPS, LEAST_GAIN = 30, 1e-9
#: What is left of the variance counts as no less than this.
LEAST_LEFT = 1e-12
#: Rounding changes a likelihood, and its logarithm, by less than this part of it.
ROUGHLY = 1e-9


class Cuts(NamedTuple):
    """What depends only on how many of the points a side has."""

    entropy: Array  # of the two shares
    weight: Array  # exp(2 entropy)
    balance: Array  # the sum of both sides' 1 / size


class Line(NamedTuple):
    """Points along a line."""

    projection: Array  # [point] where it lies
    ranks: Array  # [point] its place in the order
    order: Array  # [place] the point there
    ordered: Array  # [place] where that lies
    below: Array  # [count] sum of deviations from the mean, of so many from the low end
    left: Array  # [count] the share of the variance that a cut there leaves within the sides


@inner
def project(
    points: Array, columns: Array, mask: Array, total: Array, along: Array, projection: Array
) -> bool:
    """Set projection to where points lie along the line through the means of both sides, if there are two.

    `columns` are the columns of `points`, each in one piece, and zeros up to a multiple of four of them.
    """
    n, k = points.shape
    count = 0
    along[:] = 0.0
    for i in range(n):
        if mask[i]:
            count += 1
            for j in range(k):
                along[j] += points[i, j]
    if count == 0 or count == n:
        return False
    for j in range(k):
        along[j] = along[j] / count - (total[j] - along[j]) / (n - count)
    projection[:] = 0.0
    for j in range(0, len(columns), 4):
        a0, a1, a2, a3 = along[j], along[j + 1], along[j + 2], along[j + 3]
        c0, c1, c2, c3 = columns[j], columns[j + 1], columns[j + 2], columns[j + 3]
        for i in range(n):
            projection[i] = (((projection[i] + a0 * c0[i]) + a1 * c1[i]) + a2 * c2[i]) + a3 * c3[i]
    return True


@inner
def sort_along(line: Line) -> Any:
    """Find the order of the points along the line; return the mean of their projections."""
    n, total, is_done = len(line.projection), 0.0, False
    if n <= N_COMPARED:
        total, is_done = ranked(line.projection, line.ranks)
        for i in range(n if is_done else 0):
            line.order[line.ranks[i]] = i
    else:
        total = deal_out(line.projection, line.order, line.ranks)
        is_done = put_in_order(line.order, line.projection)
    if not is_done:
        line.order[:] = np.argsort(line.projection)
    for place in range(n):
        line.ordered[place] = line.projection[line.order[place]]
        line.ranks[line.order[place]] = place
    return total / n


@inner
def sum_along(line: Line, mean: float) -> float:
    """Add up the deviations from the mean along the line; return the sum of their squares."""
    below = spread = 0.0
    for i in range(len(line.projection)):  # two sums, neither of which waits for the other
        spread += (line.projection[i] - mean) ** 2
        line.below[i] = below
        below += line.ordered[i] - mean
    return spread


@inner
def best_cut(line: Line, cuts: Cuts, spread: float, least: int) -> Any:
    """Return the highest score of a cut across the line, and how many points lie below it.

    A logarithm takes long, and is taken only where the likelihood is the highest but for rounding.
    """
    first, last = max(least, 1), len(line.below) - max(least, 1) + 1
    for count in range(first, last):
        # Both sums of deviations are the same but for their sign.
        between = line.below[count] * line.below[count] * cuts.balance[count] / spread
        line.left[count] = max(1.0 - between, LEAST_LEFT)
    least_left = np.inf
    for count in range(first, last):
        left = line.left[count] * cuts.weight[count]
        least_left = left if left < least_left else least_left
    best, cut, limit = -np.inf, 0, least_left * (1.0 + ROUGHLY)
    for count in range(first, last):
        if line.left[count] * cuts.weight[count] <= limit:
            score = -0.5 * np.log(line.left[count]) - cuts.entropy[count]
            if score > best:
                best, cut = score, count
    return best, cut


@inner
def cut_at(line: Line, cut: int, mask: Array) -> bool:
    """Set mask to the smaller side of a cut; return whether it changed."""
    n, n_changed = len(mask), 0
    low = 2 * cut <= n
    for i in range(n):
        side = (line.ranks[i] < cut) == low
        n_changed += side != mask[i]
        mask[i] = side
    return n_changed > 0


@inner
def tabulated(n: int) -> Any:
    """Return the tables of all cuts of n points."""
    cuts = Cuts(np.zeros(n), np.zeros(n), np.zeros(n))
    for count in range(1, n):
        share = count / n
        cuts.entropy[count] = -share * np.log(share) - (1.0 - share) * np.log(1.0 - share)
        cuts.weight[count] = np.exp(2.0 * cuts.entropy[count])
        cuts.balance[count] = 1.0 / count + 1.0 / (n - count)
    return cuts


@compiled
def refined_splits(points: Array, masks: Array, least: int, scores: Array) -> None:
    """Improve each split of the points, a row of `masks`, until its score no longer rises.

    Given a split, project on the difference of the two means; given a projection, sorting finds the
    best split. The True side ends up as the smaller one.
    """
    n, k = points.shape
    columns, total, along = np.zeros((-(-k // 4) * 4, n)), np.zeros(k), np.empty(-(-k // 4) * 4)
    for j in range(k):
        for i in range(n):
            columns[j, i] = points[i, j]
            total[j] += points[i, j]
    cuts, room = tabulated(n), np.empty((4, n))
    line = Line(room[0], np.arange(n), np.arange(n), room[1], room[2], room[3])
    for row in range(len(masks)):
        mask = masks[row]
        scores[row] = -np.inf
        for _ in range(N_STEPS):
            if not project(points, columns, mask, total, along, line.projection):
                break
            spread = sum_along(line, sort_along(line))
            if spread <= 0.0:
                break
            best, cut = best_cut(line, cuts, spread, least)
            if best <= scores[row] + LEAST_GAIN:
                break
            scores[row] = best
            if not cut_at(line, cut, mask):  # the next step would be the same
                break
