"""Krum, then a trimmed mean: the plain combination of a selection and an order statistic."""

import numpy as np

from .. import kernels
from .._support.counting import trim_count
from ..core import Aggregate, rule
from ..updates.rows import Updates, rows_of
from .adapting import krum_attackers_and_trimmed
from .krum import crowd_scores
from .multi_krum import selection
from .outcome import outcome
from .settings import trim_guarantee

__all__ = ["krum_trimmed_mean"]


@rule(adapt=krum_attackers_and_trimmed)
def krum_trimmed_mean(
    updates: Updates, *, n_malicious: int, alpha: float = 0.25, n_selected: int | None = None
) -> Aggregate:
    """Return the trimmed mean of the n_selected (by default n - f) updates with the best Krum scores.

    The "naive combination" of Wang et al., 2024, https://arxiv.org/abs/2210.01834, which trims
    alpha of the selected rows at each end. f is `n_malicious`, the number of attackers to withstand in a
    round.

    >>> crowd = np.array([[1.0], [1.1], [0.9], [1.0], [99.0]])
    >>> krum_trimmed_mean(crowd, n_malicious=1).update
    array([1.])
    """
    rows = rows_of(updates)
    selected = selection(crowd_scores("krum_trimmed_mean", rows, n_malicious), n_malicious, n_selected)
    chosen = np.flatnonzero(selected)
    seen = kernels.trimmed_mean_among(rows, chosen, n_trimmed=trim_count(alpha, len(chosen)))
    notes = trim_guarantee(alpha, len(chosen))["notes"]
    return outcome("krum_trimmed_mean", rows, seen, selected=selected, notes=notes)
