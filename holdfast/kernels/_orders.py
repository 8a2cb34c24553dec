"""Compiled: where numbers belong in their order. Equal ones have none, and are left to one sort."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._machine import inner

__all__ = ["deal_out", "put_in_order", "ranked"]

Array = NDArray[Any]

#: An order is put right by moving neighbours if that takes at most so many moves each.
N_MOVES = 6


@inner
def ranked(values: Array, ranks: Array) -> Any:
    """Set ranks to how many values lie below each; return the sum of values, and whether no two are equal.

    All are compared with all, which takes no decision that a processor could guess wrong: of some hundreds
    of numbers that is quicker than to sort them.
    """
    n, total, rest = len(values), 0.0, len(values) - len(values) % 4
    for i in range(n):
        ranks[i] = 0
    for j in range(0, rest, 4):
        v0, v1, v2, v3 = values[j], values[j + 1], values[j + 2], values[j + 3]
        total = (((total + v0) + v1) + v2) + v3  # of the values in order, while the others are compared
        for i in range(n):
            x = values[i]
            ranks[i] += (np.int64(v0 < x) + np.int64(v1 < x)) + (np.int64(v2 < x) + np.int64(v3 < x))
    for j in range(rest, n):
        total += values[j]
        for i in range(n):
            ranks[i] += np.int64(values[j] < values[i])
    n_below = 0
    for i in range(n):
        n_below += ranks[i]
    return total, 2 * n_below == n * (n - 1)


@inner
def deal_out(values: Array, order: Array, counts: Array) -> float:
    """Set order to the values by how far they are from the lowest to the highest, nearly in order.

    There are as many steps on that way, and counts, as values. Return the sum of all.
    """
    n, total, low, high = len(values), 0.0, np.inf, -np.inf
    for i in range(n):
        total += values[i]
        low = values[i] if values[i] < low else low
        high = values[i] if values[i] > high else high
    if not (np.isfinite(total) and 0.0 < high - low < np.inf):
        return total  # such numbers are left to the sort
    scale = (n - 1) / (high - low)
    counts[:] = 0
    for i in range(n):
        counts[min(int((values[i] - low) * scale), n - 1)] += 1
    before = 0
    for step in range(n):
        before, counts[step] = before + counts[step], before
    for i in range(n):
        step = min(int((values[i] - low) * scale), n - 1)
        order[counts[step]] = i
        counts[step] += 1
    return total


@inner
def put_in_order(order: Array, values: Array) -> bool:
    """Insert one after the other where it belongs; return whether that was quick, and no two are equal."""
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
