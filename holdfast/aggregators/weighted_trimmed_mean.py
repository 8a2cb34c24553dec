"""Weighted trimmed mean: per coordinate, without the largest and the smallest values by weight."""

from numpy.typing import ArrayLike

from .._support.counting import checked_alpha
from ..core import Aggregate, rule
from ..kernels import weighted
from ..updates.rows import Updates, rows_of
from .adapting import fewer_trimmed
from .outcome import outcome
from .settings import shares, weighted_trim_guarantee

__all__ = ["weighted_trimmed_mean"]


@rule(adapt=fewer_trimmed)
def weighted_trimmed_mean(
    updates: Updates, *, alpha: float = 0.25, weights: ArrayLike | None = None
) -> Aggregate:
    """Return the weighted mean of each coordinate without the share alpha of the weight at each end.

    The trimmed mean of Yin et al., 2018, https://arxiv.org/abs/1803.01498, for clients of different size: a
    value at the boundary counts with the part of its weight that lies inside. With equal weights and a whole
    alpha * n it is `trimmed_mean`. Clients with at most the share alpha of the weight cannot leave the range
    of the others.

    >>> import numpy as np
    >>> updates = np.array([[1.0], [2.0], [3.0], [100.0]])
    >>> weighted_trimmed_mean(updates, weights=[1, 4, 2, 1]).update  # without 1, 1/4 of 2, 1/2 of 3 and 100
    array([2.25])
    """
    share = checked_alpha(alpha)
    rows = rows_of(updates)
    client_shares = shares(weights, len(rows))
    seen = weighted.trimmed_mean(rows, client_shares, alpha=share)
    guarantee = weighted_trim_guarantee(share, client_shares)
    return outcome("weighted_trimmed_mean", rows, seen, **guarantee)
