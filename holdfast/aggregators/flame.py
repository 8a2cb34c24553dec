"""FLAME: average the closest majority, none of it longer than most, under a little noise."""

from typing import Any

import numpy as np

from .. import kernels
from ..core import Aggregate, rule
from ..updates.rows import Updates, rows_of
from .clusters import closest_majority
from .filtering import global_model, kept_note, models_gram
from .geometry import clip_factors, cosines
from .outcome import weighted_sum
from .settings import check_positive

__all__ = ["flame"]


@rule
def flame(
    updates: Updates, *, noise: float = 0.001, params: Any = None, rng: np.random.Generator
) -> Aggregate:
    """Return the mean of the majority whose models point alike, clipped to the median length, plus noise.

    Nguyen et al., 2022, https://arxiv.org/abs/2101.02281. HDBSCAN on cosine distances between the clients'
    models (global model `params` plus update) finds the one cluster of more than half of all clients, and
    of clients who differ by chance alone it keeps hardly more than that. Kept updates are shortened to the
    median length of all updates: a widespread implementation takes the lengths of other clients for theirs.
    The noise has a standard deviation of `noise`, the paper's lambda, times that median.

    >>> crowd = np.array([[3.0, 4.0], [6.0, 8.0], [3.0, 4.0], [-4.0, 3.0], [4.0, -3.0]])
    >>> result = flame(crowd, noise=0.0, rng=np.random.default_rng(0))
    >>> result.update, result.diagnostics.selected
    (array([3., 4.]), array([ True,  True,  True, False, False]))
    """
    check_positive("noise", noise, or_zero=True)
    rows = rows_of(updates)
    own, notes = global_model(rows, params)
    products = kernels.gram(rows, beside=own)
    is_kept = closest_majority(1 - cosines(models_gram(products)))
    norms = np.sqrt(products.diagonal()[:-1])
    limit = float(np.median(norms))
    client_weights = is_kept * clip_factors(norms, limit) / is_kept.sum()
    blur = kernels.noise(rows, rng, sigma=noise * limit)
    if len(rows) < 3:
        notes += ("needs at least 3 clients to drop one",)
    notes = (kept_note(is_kept), *notes)
    return weighted_sum("flame", rows, client_weights, beside=(1.0, blur), selected=is_kept, notes=notes)
