"""The largest magnitudes of each row, found exactly by counting digits, in little memory."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..updates.rows import Rows
from . import NOTHING
from ._forms import Tally
from .passes import Job, run

__all__ = ["Cutoffs", "agreement", "cutoffs"]

Array = NDArray[Any]

#: Bits that are counted in a pass: so many counters that each row's fit the nearest caches.
N_BITS = 11


class Cutoffs(NamedTuple):
    """Where the largest magnitudes of each row end."""

    values: Array  # [row] the smallest magnitude among the largest
    n_ties: NDArray[np.int64]  # [row] numbers that have it
    n_taken: NDArray[np.int64]  # [row] how many of those are among the largest


def cutoffs(rows: Rows, n_largest: int) -> Cutoffs:
    """Return where the n_largest magnitudes of each row end.

    >>> from holdfast.updates import rows_of
    >>> cutoffs(rows_of(np.array([[3.0, -1.0, 0.5, 1.0]])), 2)
    Cutoffs(values=array([1.]), n_ties=array([2]), n_taken=array([1]))
    """
    n, kind = len(rows), np.dtype(f"u{rows.dtype.itemsize}")
    known, n_left = np.zeros(n, dtype=kind), np.full(n, n_largest, dtype=np.int64)
    shift = 8 * kind.itemsize - 1  # all but the sign
    n_ties = n_left
    while shift:
        n_bits = min(N_BITS, shift)
        shift -= n_bits
        known = known << kind.type(n_bits)
        counts = _counted(rows, "digits", Tally(known, 1 << n_bits, shift))
        above = np.cumsum(counts[:, ::-1], axis=1)[:, ::-1]  # with this digit or a higher one
        digit = (above >= n_left[:, None]).sum(axis=1) - 1
        every = np.arange(n)
        n_ties = counts[every, digit]
        n_left = n_left - (above[every, digit] - n_ties)
        known = known | digit.astype(kind)
    return Cutoffs(known.view(rows.dtype), n_ties, n_left)


def agreement(rows: Rows, largest: Cutoffs) -> NDArray[np.float64]:
    """Return in how many of its largest magnitudes each row has the sign of the majority, or 0 as it has.

    Numbers that tie for the last places count with the share of them that fits.

    >>> from holdfast.updates import rows_of
    >>> rows = rows_of(np.array([[3.0, -1.0, 0.5, 1.0], [2.0, -1.0, 2.0, -1.0], [-1.0, -1.0, 1.0, 2.0]]))
    >>> agreement(rows, cutoffs(rows, 2))
    array([2.        , 2.        , 1.66666667])
    """
    above, tied = _counted(rows, "agreements", Tally(largest.values, 2, 0)).T
    return np.asarray(above + tied * (largest.n_taken / largest.n_ties))


def _counted(rows: Rows, loop: str, plan: Tally) -> NDArray[np.int64]:
    """Return what a loop counts in each row."""
    counts = run(rows, Job(loop, (0,), NOTHING, plan)).counts
    rows.refuse(counts[: len(rows)])
    return counts[len(rows) :].reshape(len(rows), plan.n_counts)
