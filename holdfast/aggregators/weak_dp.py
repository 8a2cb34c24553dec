"""Weak differential privacy: clip, average, and blur with a little noise."""

import numpy as np
from numpy.typing import ArrayLike

from .. import kernels
from ..core import Aggregate, rule
from ..updates.rows import Updates, rows_of
from .geometry import clip_factors
from .outcome import weighted_sum
from .settings import check_positive, shares, weight_notes

__all__ = ["weak_dp"]


@rule
def weak_dp(
    updates: Updates,
    *,
    max_norm: float = 2.0,
    sigma: float = 0.025,
    weights: ArrayLike | None = None,
    rng: np.random.Generator,
) -> Aggregate:
    """Return the weighted mean of the updates, each shortened to max_norm, plus normal noise.

    Sun et al., 2019, https://arxiv.org/abs/1911.07963. In d coordinates the noise is about
    sigma * sqrt(d) long: 85 for ResNet-18 at the default.

    >>> rng = np.random.default_rng(0)
    >>> weak_dp(np.array([[3.0, 4.0], [0.0, 1.0]]), max_norm=1.0, sigma=0.0, rng=rng).update
    array([0.3, 0.9])
    """
    check_positive("max_norm", max_norm)
    check_positive("sigma", sigma, or_zero=True)
    rows = rows_of(updates)
    norms = np.sqrt(kernels.squared_norms(rows))
    client_shares = shares(weights, len(rows))
    client_weights = client_shares * clip_factors(norms, max_norm)
    blur = kernels.noise(rows, rng, sigma=sigma)
    notes = weight_notes(client_shares)
    return weighted_sum("weak_dp", rows, client_weights, beside=(1.0, blur), notes=notes)
