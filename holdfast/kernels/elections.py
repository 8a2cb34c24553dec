"""Signs that clients elect: how far the clients agree, and the mean of those who have the elected sign."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..updates.rows import Rows
from . import NOTHING, Pass, swept
from ._forms import Election, Tally
from ._network import comparators_into
from .passes import Job, run

__all__ = ["concordance", "elected_mean"]

Array = NDArray[Any]


def concordance(rows: Rows) -> NDArray[np.int64]:
    """Return for all pairs of rows in how many coordinates more their signs agree than differ.

    >>> from holdfast.updates import rows_of
    >>> concordance(rows_of(np.array([[1.0, -2.0, 3.0], [1.0, -1.0, -1.0], [-1.0, 0.0, 0.0]])))
    array([[ 3,  1, -1],
           [ 1,  3, -1],
           [-1, -1,  1]])
    """
    n = len(rows)
    counts = run(rows, Job("concordance", (0,), NOTHING, Tally(NOTHING, n, 0))).counts
    rows.refuse(counts[:n])
    upper = np.triu(counts[n:].reshape(n, n))
    return np.asarray(upper + np.triu(upper, 1).T)


def elected_mean(rows: Rows, *, votes: Array, factors: Array, cutoffs: Array) -> Pass:
    """Return the mean of each coordinate over the rows that have the sign its voters elect.

    `votes` are whole numbers. Rows are multiplied by their factors, magnitudes are at most the lower median
    of the column's, and what was below its row's cutoff is left out.

    >>> from holdfast.updates import rows_of
    >>> rows, one = rows_of(np.array([[1.0, -5.0], [2.0, -1.0], [-3.0, 2.0]])), np.ones(3)
    >>> elected_mean(rows, votes=np.array([1, 1, 1]), factors=one, cutoffs=1.5 * one).update
    array([ 2., -2.])
    """
    n, place = len(rows), (len(rows) - 1) // 2
    plan = Election(
        votes=np.ascontiguousarray(votes, dtype=np.int64),
        factors=np.ascontiguousarray(factors, dtype=np.float64),
        cutoffs=np.ascontiguousarray(cutoffs, dtype=rows.dtype),
        pairs=comparators_into(("low",) * place + ("middle",) + ("high",) * (n - place - 1)),
        below=0.0,
        explain=rows.explain,
    )
    return swept(rows, "elected", plan, trims=False)
