"""Order statistics by coordinate in which every client counts with its share of the weight.

Where the trimming ends is found in whole numbers: each share is so many of a billion units. So neither the
order of clients nor rounding decides who is trimmed, and what is less than rounding can tell is trimmed away
whole. The mean is then taken with the shares themselves.
"""

from collections.abc import Hashable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..updates.rows import Rows
from . import Pass, swept
from ._forms import Weighing
from ._network import comparators_into

__all__ = ["median", "trimmed_mean"]

Array = NDArray[Any]

#: The weight of all clients, in units: twice as much fits 32 bits.
ALL = 1 << 30


def trimmed_mean(rows: Rows, shares: Array, *, alpha: float, tau: float = 0.0) -> Pass:
    """Return the weighted mean without the share alpha of the weight at each end of every coordinate.

    Shares add up to 1. It is 0 where |sum of shares times signs| < tau.

    >>> from holdfast.updates import rows_of
    >>> rows = rows_of(np.array([[0.0], [4.0], [9.0]]))
    >>> trimmed_mean(rows, np.array([0.25, 0.5, 0.25]), alpha=0.125).update  # half of each end counts
    array([4.16666667])
    """
    return _weighed(rows, shares, alpha, tau)


def median(rows: Rows, shares: Array) -> Pass:
    """Return the middle between the two values that half of the weight, at least, does not exceed.

    >>> from holdfast.updates import rows_of
    >>> rows = rows_of(np.array([[0.0], [4.0], [9.0], [9.0]]))
    >>> median(rows, np.array([0.2, 0.3, 0.1, 0.4])).update, median(rows, np.full(4, 0.25)).update
    (array([6.5]), array([6.5]))
    """
    return _weighed(rows, shares, 0.5, 0.0)


def _weighed(rows: Rows, shares: Array, alpha: float, tau: float) -> Pass:
    n = len(rows)
    units = np.where(shares > 0, np.maximum(np.rint(shares * ALL), 1), 0).astype(np.int32)
    total, doubt = int(units.sum(dtype=np.int64)), n  # a unit at most for each row that is rounded
    edge = int(alpha * total) + doubt if alpha > 0 else 0
    light = np.sort(units).astype(np.int64)
    n_outside, n_edge = (
        int(np.searchsorted(np.cumsum(some), edge, side="right")) for some in (light[::-1], light)
    )
    plan = Weighing(
        shares=np.ascontiguousarray(shares, dtype=np.float64),
        units=units,
        pairs=comparators_into(_groups(n, n_outside, n_edge)),
        n_outside=n_outside,
        n_edge=n_edge,
        edge=edge,
        alpha=alpha,
        n_votes=max(0, int(np.ceil(tau * total)) - doubt),
        below=0.0,
        explain=rows.explain,
    )
    return swept(rows, "weighted", plan, trims=True)


def _groups(n: int, n_outside: int, n_edge: int) -> tuple[Hashable, ...]:
    """Return what must be known of each place in order: itself where an edge may lie, else which side of it.

    >>> _groups(6, 1, 1), _groups(3, 0, 2)
    (('low', 1, 'kept', 'kept', 4, 'high'), (0, 1, 2))
    """

    def group(place: int) -> Hashable:
        if n_outside <= place <= n_edge or n_outside <= n - 1 - place <= n_edge:
            return place
        return "low" if place < n_outside else "high" if n - 1 - place < n_outside else "kept"

    return tuple(group(place) for place in range(n))
