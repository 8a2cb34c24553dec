"""Compiled loops over points in a few dimensions: their main directions, and their best split in two."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._machine import compiled, inner

__all__ = ["leading_directions", "refined_splits"]

Array = NDArray[Any]

#: What is left of a column that others span is no direction, if it is shorter by this factor.
DUST = 1e-10
#: An order is put right by moving neighbours if that takes at most so many moves each.
N_MOVES = 6


@compiled
def leading_directions(gram: Array, basis: Array, n_steps: int) -> None:
    """Turn the columns of `basis` into the main directions of a Gram matrix, by subspace iteration."""
    n, k = basis.shape
    turned, columns = np.empty((n, k)), np.empty((k, n))
    for _ in range(n_steps):
        for i in range(n):
            row = turned[i]
            row[:] = 0.0
            for other in range(0, n - n % 4, 4):  # four at a time, added in order
                w0, w1, w2, w3 = gram[i, other], gram[i, other + 1], gram[i, other + 2], gram[i, other + 3]
                x0, x1, x2, x3 = basis[other], basis[other + 1], basis[other + 2], basis[other + 3]
                for j in range(k):
                    row[j] = (((row[j] + w0 * x0[j]) + w1 * x1[j]) + w2 * x2[j]) + w3 * x3[j]
            for other in range(n - n % 4, n):
                for j in range(k):
                    row[j] += gram[i, other] * basis[other, j]
        for j in range(k):
            for i in range(n):
                columns[j, i] = turned[i, j]
        make_orthonormal(columns)
        for i in range(n):
            for j in range(k):
                basis[i, j] = columns[j, i]


@inner
def make_orthonormal(columns: Array) -> None:
    """Take from each row what those before it span, and give it length 1, or 0 if nothing is left."""
    k, n = columns.shape
    longest = 0.0
    for j in range(k):
        column = columns[j]
        for before in range(j):
            other = columns[before]
            overlap = 0.0
            for i in range(n):
                overlap += other[i] * column[i]
            for i in range(n):
                column[i] -= overlap * other[i]
        square = 0.0
        for i in range(n):
            square += column[i] * column[i]
        length = np.sqrt(square)
        longest = max(longest, length)
        for i in range(n):
            column[i] = column[i] / length if length > DUST * longest else 0.0


@inner
def put_in_order(order: Array, values: Array) -> bool:
    """Insert one after the other where it belongs; return whether that was quick, and no two are equal.

    Equal values have no order, and must be left to the sort that has always decided about it.
    """
    n, n_moves = len(order), 0
    for position in range(1, n):
        item, place = order[position], position
        while place > 0 and values[order[place - 1]] > values[item]:
            order[place] = order[place - 1]
            place -= 1
        order[place] = item
        n_moves += position - place
        if n_moves > N_MOVES * n:
            return False
    n_equal = 0
    for position in range(1, n):
        n_equal += not values[order[position - 1]] < values[order[position]]
    return n_equal == 0


@inner
def project(
    points: Array, columns: Array, mask: Array, total: Array, inside: Array, projection: Array
) -> bool:
    """Set projection to where points lie along the line through the means of both sides, if there are two.

    `columns` are the columns of `points`, each in one piece.
    """
    n, k = points.shape
    count = 0
    for j in range(k):
        inside[j] = 0.0
    for i in range(n):
        if mask[i]:
            count += 1
            for j in range(k):
                inside[j] += points[i, j]
    if count == 0 or count == n:
        return False
    for i in range(n):
        projection[i] = 0.0
    for j in range(k):
        along, column = inside[j] / count - (total[j] - inside[j]) / (n - count), columns[j]
        for i in range(n):
            projection[i] += along * column[i]
    return True


@inner
def moments(values: Array) -> Any:
    """Return the mean, and the sum of squared deviations from it."""
    mean = spread = 0.0
    for i in range(len(values)):
        mean += values[i]
    mean /= len(values)
    for i in range(len(values)):
        spread += (values[i] - mean) ** 2
    return mean, spread


@compiled
def refined_splits(points: Array, masks: Array, least: int, scores: Array) -> None:
    """Improve each split of the points, a row of `masks`, until its score no longer rises.

    Given a split, project on the difference of the two means; given a projection, sorting finds the
    best split. The True side ends up as the smaller one.
    """
    n, k = points.shape
    entropy, balance = np.zeros(n), np.zeros(n)
    for count in range(1, n):
        share = count / n
        entropy[count] = -share * np.log(share) - (1.0 - share) * np.log(1.0 - share)
        balance[count] = 1.0 / count + 1.0 / (n - count)
    columns, total, inside = np.empty((k, n)), np.zeros(k), np.empty(k)
    for j in range(k):
        for i in range(n):
            columns[j, i] = points[i, j]
            total[j] += points[i, j]
    projection, order = np.empty(n), np.arange(n)
    for row in range(len(masks)):
        mask = masks[row]
        scores[row] = -np.inf
        for step in range(30):
            if not project(points, columns, mask, total, inside, projection):
                break
            mean, spread = moments(projection)
            if spread <= 0.0:
                break
            # A better split is much like the last one, and so is the order along its line.
            if step == 0 or not put_in_order(order, projection):
                order = np.argsort(projection)
            below, best, cut = 0.0, -np.inf, 0
            for first in range(1, n):
                below += projection[order[first - 1]] - mean
                if first < least or n - first < least:
                    continue
                # Both sums of deviations are the same but for their sign.
                between = below * below * balance[first] / spread
                score = -0.5 * np.log(max(1.0 - between, 1e-12)) - entropy[first]
                if score > best:
                    best, cut = score, first
            if best <= scores[row] + 1e-9:
                break
            scores[row] = best
            low = 2 * cut <= n
            for position in range(n):
                mask[order[position]] = (position < cut) == low
