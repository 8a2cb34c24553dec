"""Nearest-neighbour mixing: every update becomes the mean of those around it, then another rule decides."""

from typing import Any

import numpy as np

from .._support.counting import check_whole
from ..core import Aggregate, Rule, rule
from ..errors import TooFewClientsError
from ..updates.rows import Updates, rows_of
from .adapting import attackers_here_and_behind
from .fronts import in_front
from .geometry import clear_distances
from .trimmed_mean import trimmed_mean

__all__ = ["nnm"]


@rule(adapt=attackers_here_and_behind)
def nnm(updates: Updates, *, n_malicious: int, rule: Rule = trimmed_mean, **inputs: Any) -> Aggregate:
    """Return what another rule makes of the updates, each replaced by the mean of its n - f nearest.

    Allouah et al., 2023, https://arxiv.org/abs/2302.01772. An update is among its own nearest. Honest clients
    who differ become alike, so that the rule behind loses less. Sample counts stay with their clients.

    >>> crowd = np.array([[1.0], [1.1], [0.9], [1.0], [99.0]])
    >>> nnm(crowd, n_malicious=1).update
    array([1.])
    """
    check_whole("n_malicious", n_malicious, at_least=0)
    rows = rows_of(updates)
    n, n_nearest = len(rows), len(rows) - n_malicious
    if n_nearest < 1:
        raise TooFewClientsError(
            f"nnm needs n > f clients; take more per round, or assume fewer attackers (n_malicious):"
            f" got n={n}, f={n_malicious}"
        )
    distances = clear_distances(rows, n_nearest)
    np.fill_diagonal(distances, -1)  # itself first, whoever sends the same
    nearest = np.argsort(distances, axis=1, kind="stable")[:, :n_nearest]
    weights = np.zeros((n, n))
    np.put_along_axis(weights, nearest, 1 / n_nearest, axis=1)
    notes = () if n_malicious else ("n_malicious=0: every row becomes the mean of all, plain averaging",)
    return in_front("nnm", rows, weights, rule, inputs, n_malicious=n_malicious, notes=notes)
