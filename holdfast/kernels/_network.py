"""Sorting networks: which rows to compare so that the middle ones end up in the middle.

A network is a fixed list of comparators, whatever the values, so it sorts as many coordinates at a time as a
vector register holds. A trimmed mean does not need the order, only which values are the middle ones, so every
comparator that cannot change that is left out.
"""

from collections import deque
from collections.abc import Hashable
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

__all__ = ["comparators", "comparators_into", "sorters", "within_reach"]


def comparators(n_rows: int, n_trimmed: int) -> NDArray[np.int64]:
    """Return (low, high) pairs of rows that bring the middle n - 2k values into rows k to n - k, unordered.

    >>> comparators(3, 1).tolist()  # the median of three
    [[0, 2], [0, 1], [1, 2]]
    >>> len(comparators(20, 5)), len(comparators(20, 0))
    (80, 0)
    """
    groups = ("low",) * n_trimmed, ("kept",) * (n_rows - 2 * n_trimmed), ("high",) * n_trimmed
    return comparators_into(sum(groups, ()))


@lru_cache(maxsize=64)
def comparators_into(groups: tuple[Hashable, ...]) -> NDArray[np.int64]:
    """Return pairs of rows that bring every value into its group, unordered; groups follow one another.

    >>> comparators_into(("least", "others", "others")).tolist()
    [[0, 2], [0, 1]]
    """
    # From the end: a wire that no later comparator touches is known by the group it ends in.
    wires: list[object] = list(groups)
    needed = []
    for low, high in reversed(_odd_even_merge(len(groups))):
        if wires[low] != wires[high]:
            needed.append((low, high))
            wires[low], wires[high] = object(), object()
    return np.array(needed[::-1], dtype=np.int64).reshape(-1, 2)


@lru_cache(maxsize=64)
def sorters(n_rows: int) -> NDArray[np.int64]:
    """Return (low, high) pairs of rows that bring all values into order.

    >>> sorters(3).tolist()
    [[0, 2], [0, 1], [1, 2]]
    """
    return np.array(_odd_even_merge(n_rows), dtype=np.int64).reshape(-1, 2)


def within_reach(pairs: NDArray[np.int64], n_held: int) -> list[tuple[int, int]]:
    """Return the same network in an order that comes back to rows soon: to the last n_held, where it can.

    Comparators that share no row may change places, so the result is the same, to the bit.

    >>> within_reach(np.array([[0, 1], [2, 3], [0, 1]]), 2)
    [(0, 1), (0, 1), (2, 3)]
    """
    order = [(int(low), int(high)) for low, high in pairs]
    waiting: dict[int, deque[int]] = {}  # what each row still goes through
    for number, pair in enumerate(order):
        for row in pair:
            waiting.setdefault(row, deque()).append(number)

    def is_next(number: int) -> bool:
        return all(waiting[row][0] == number for row in order[number])

    ready = {number for number in range(len(order)) if is_next(number)}
    held: list[int] = []  # the last used last
    found = []
    while ready:
        best = min(ready, key=lambda number: (sum(row not in held for row in order[number]), number))
        ready.remove(best)
        found.append(order[best])
        for row in order[best]:
            waiting[row].popleft()
        held = [row for row in held if row not in order[best]] + list(order[best])
        held = [row for row in held if waiting[row]][-n_held:]
        ready.update(waiting[row][0] for row in order[best] if waiting[row] and is_next(waiting[row][0]))
    return found


def _odd_even_merge(n: int) -> list[tuple[int, int]]:
    """Return Batcher's merge exchange, which sorts any n (Knuth, volume 3, algorithm 5.2.2 M)."""
    pairs = []
    top = 1 << max(0, (n - 1).bit_length() - 1)
    span = top
    while span:
        step, wanted, distance = top, 0, span
        while True:
            pairs += [(i, i + distance) for i in range(n - distance) if i & span == wanted]
            if step == span:
                break
            distance, step, wanted = step - span, step // 2, span
        span //= 2
    return pairs
