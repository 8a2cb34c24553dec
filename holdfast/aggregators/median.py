"""Median of each coordinate."""

from .. import kernels
from ..core import Aggregate, rule
from ..updates.rows import Updates, rows_of
from .outcome import outcome
from .settings import WITHIN_RANGE

__all__ = ["median"]


@rule
def median(updates: Updates) -> Aggregate:
    """Return the median of each coordinate, the midpoint of the two middle values for an even n.

    Yin et al., 2018, https://arxiv.org/abs/1803.01498

    >>> import numpy as np
    >>> median(np.array([[1.0, 4.0], [2.0, 3.0], [3.0, -2.0], [10.0, 1.0]])).update
    array([2.5, 2. ])
    """
    rows = rows_of(updates)
    n_tolerated = (len(rows) - 1) // 2
    seen = kernels.trimmed_mean(rows, n_trimmed=n_tolerated)
    return outcome("median", rows, seen, covered=n_tolerated > 0, tolerates=n_tolerated, promise=WITHIN_RANGE)
