"""Compiled loops over points in a few dimensions: their main directions, and their best split in two."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._machine import compiled

__all__ = ["leading_directions", "refined_splits"]

Array = NDArray[Any]

#: What is left of a column that others span is no direction, if it is shorter by this factor.
DUST = 1e-10


@compiled
def leading_directions(gram: Array, basis: Array, n_steps: int) -> None:
    """Turn the columns of `basis` into the main directions of a Gram matrix, by subspace iteration."""
    n, k = basis.shape
    turned = np.empty((n, k))
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
        longest = 0.0
        for j in range(k):
            for before in range(j):
                overlap = 0.0
                for i in range(n):
                    overlap += turned[i, before] * turned[i, j]
                for i in range(n):
                    turned[i, j] -= overlap * turned[i, before]
            square = 0.0
            for i in range(n):
                square += turned[i, j] * turned[i, j]
            length = np.sqrt(square)
            longest = max(longest, length)
            for i in range(n):
                turned[i, j] = turned[i, j] / length if length > DUST * longest else 0.0
        basis[:] = turned


@compiled
def refined_splits(points: Array, masks: Array, least: int, scores: Array) -> None:
    """Improve each split of the points, a row of `masks`, until its score no longer rises.

    Given a split, project on the difference of the two means; given a projection, sorting finds the
    best split. The True side ends up as the smaller one.
    """
    n, k = points.shape
    entropy = np.zeros(n)
    for count in range(1, n):
        share = count / n
        entropy[count] = -share * np.log(share) - (1.0 - share) * np.log(1.0 - share)
    inside, direction, projection = np.empty(k), np.empty(k), np.empty(n)
    total = np.empty(k)
    for j in range(k):
        total[j] = 0.0
        for i in range(n):
            total[j] += points[i, j]
    for row in range(len(masks)):
        mask = masks[row]
        scores[row] = -np.inf
        for _ in range(30):
            count = 0
            for j in range(k):
                inside[j] = 0.0
            for i in range(n):
                if mask[i]:
                    count += 1
                    for j in range(k):
                        inside[j] += points[i, j]
            if count == 0 or count == n:
                break
            for j in range(k):
                direction[j] = inside[j] / count - (total[j] - inside[j]) / (n - count)
            mean = 0.0
            for i in range(n):
                value = 0.0
                for j in range(k):
                    value += direction[j] * points[i, j]
                projection[i] = value
                mean += value
            mean /= n
            spread = 0.0
            for i in range(n):
                spread += (projection[i] - mean) ** 2
            if spread <= 0.0:
                break
            order = np.argsort(projection)
            below, best, cut = 0.0, -np.inf, 0
            for first in range(1, n):
                below += projection[order[first - 1]] - mean
                if first < least or n - first < least:
                    continue
                # Both sums of deviations are the same but for their sign.
                between = below * below * (1.0 / first + 1.0 / (n - first)) / spread
                score = -0.5 * np.log(max(1.0 - between, 1e-12)) - entropy[first]
                if score > best:
                    best, cut = score, first
            if best <= scores[row] + 1e-9:
                break
            scores[row] = best
            low = 2 * cut <= n
            for position in range(n):
                mask[order[position]] = (position < cut) == low
