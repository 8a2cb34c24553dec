"""Weighted median of each coordinate."""

import numpy as np
from numpy.typing import ArrayLike

from ..core import Aggregate, rule
from ..kernels import weighted
from ..updates.rows import Updates, rows_of
from .outcome import outcome
from .settings import WITHIN_RANGE, shares, weight_notes

__all__ = ["weighted_median"]


@rule
def weighted_median(updates: Updates, *, weights: ArrayLike | None = None) -> Aggregate:
    """Return the value of each coordinate with half of the weight on either side.

    The median of Yin et al., 2018, https://arxiv.org/abs/1803.01498, for clients of different size. Where
    exactly half of the weight lies below a gap, it is the midpoint of the two values beside it: with equal
    weights it is `median`. Clients with less than half of the weight cannot leave the range of the others.

    >>> weighted_median(np.array([[1.0], [2.0], [9.0]]), weights=[1, 2, 4]).update
    array([9.])
    """
    rows = rows_of(updates)
    client_shares = shares(weights, len(rows))
    seen = weighted.median(rows, client_shares)
    n_tolerated = int(np.searchsorted(np.cumsum(np.sort(client_shares)[::-1]), 0.5 - 1e-9))
    notes = weight_notes(client_shares)
    return outcome(
        "weighted_median",
        rows,
        seen,
        covered=n_tolerated > 0,
        tolerates=n_tolerated,
        promise=WITHIN_RANGE,
        notes=notes,
    )
