"""Norm clipping: nobody's update is longer than the rest's."""

import numpy as np

from .. import kernels
from ..core import Aggregate, rule
from ..updates.rows import Updates, rows_of
from .geometry import clip_factors
from .outcome import weighted_sum
from .settings import check_positive

__all__ = ["norm_clipping"]


@rule
def norm_clipping(updates: Updates, *, max_norm: float | None = None) -> Aggregate:
    """Return the mean of the updates, each shortened to max_norm, by default the round's median length.

    Sun et al., 2019, https://arxiv.org/abs/1911.07963

    >>> norm_clipping(np.array([[3.0, 4.0], [0.0, 0.5]]), max_norm=1.0).update
    array([0.3 , 0.65])
    """
    if max_norm is not None:
        check_positive("max_norm", max_norm)
    rows = rows_of(updates)
    norms = np.sqrt(kernels.squared_norms(rows))
    limit = float(np.median(norms)) if max_norm is None else max_norm
    return weighted_sum("norm_clipping", rows, clip_factors(norms, limit) / len(rows))
