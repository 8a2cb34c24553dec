"""Trimmed mean: per coordinate, without the largest and the smallest values."""

from .. import kernels
from .._support.counting import trim_count
from ..core import Aggregate, rule
from ..updates.rows import Updates, rows_of
from .adapting import fewer_trimmed
from .outcome import outcome
from .settings import trim_guarantee

__all__ = ["trimmed_mean"]


@rule(adapt=fewer_trimmed)
def trimmed_mean(updates: Updates, *, alpha: float = 0.25) -> Aggregate:
    """Return the mean of each coordinate without its ceil(alpha * n) largest and smallest values.

    Yin et al., 2018, https://arxiv.org/abs/1803.01498

    >>> import numpy as np
    >>> trimmed_mean(np.array([[1.0], [2.0], [3.0], [4.0], [100.0]]), alpha=0.2).update
    array([3.])
    """
    rows = rows_of(updates)
    seen = kernels.trimmed_mean(rows, n_trimmed=trim_count(alpha, len(rows)))
    return outcome("trimmed_mean", rows, seen, **trim_guarantee(alpha, len(rows)))
