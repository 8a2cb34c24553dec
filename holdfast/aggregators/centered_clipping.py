"""Centred clipping: step from the last update towards the clients, no client further than a radius."""

from typing import Any

import numpy as np

from .. import kernels
from .._support.counting import check_whole
from ..core import Aggregate, rule
from ..updates.rows import Updates, rows_of
from .geometry import clip_factors, distances_to_sum
from .outcome import weighted_sum
from .settings import check_positive

__all__ = ["centered_clipping"]


@rule
def centered_clipping(
    updates: Updates, *, radius: float | None = None, n_steps: int = 3, previous: Any = None
) -> Aggregate:
    """Return a centre v after n_steps of v <- v + mean of (update - v), each shortened to the radius.

    Karimireddy et al., 2021, https://arxiv.org/abs/2012.10333. v starts at the last global update
    (`previous`), at zero in the first round. By default the radius is the median distance to v, measured in
    each step. No guarantee is claimed: the theorem's radius is set by the honest clients' spread.

    >>> clients = np.array([[1.0, 0.0], [1.0, 0.2], [1.0, 0.1], [-90.0, 0.0]])
    >>> centered_clipping(clients).update.round(1)
    array([0.9, 0.1])
    """
    if radius is not None:
        check_positive("radius", radius)
    check_whole("n_steps", n_steps, at_least=1)
    rows = rows_of(updates)
    n = len(rows)
    is_first = previous is None
    start = np.zeros(rows.dim, rows.dtype) if is_first else rows.layout.flat(previous, name="previous")
    gram = kernels.gram(rows, beside=start)
    center = (np.arange(n + 1) == n).astype(np.float64)  # v as weights of the rows and, last, of the start
    for _ in range(n_steps):
        distances = distances_to_sum(gram, center)[:n]
        pull = clip_factors(distances, float(np.median(distances)) if radius is None else radius) / n
        center = center * (1 - pull.sum())
        center[:n] += pull
    return weighted_sum("centered_clipping", rows, center[:n], beside=(float(center[-1]), start))
