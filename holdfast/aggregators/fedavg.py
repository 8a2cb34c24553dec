"""FedAvg: the mean of the updates, weighted by the examples behind them."""

from numpy.typing import ArrayLike

from ..core import Aggregate, rule
from ..updates.rows import Updates, rows_of
from .outcome import weighted_sum
from .settings import shares, weight_notes

__all__ = ["fedavg"]


@rule
def fedavg(updates: Updates, *, weights: ArrayLike | None = None) -> Aggregate:
    """Return the mean of the updates, weighted by the examples each client holds. No defence.

    McMahan et al., 2017, https://arxiv.org/abs/1602.05629

    >>> import numpy as np
    >>> fedavg(np.array([[0.0, 2.0], [4.0, 2.0]]), weights=[1, 3]).update
    array([3., 2.])
    """
    rows = rows_of(updates)
    client_weights = shares(weights, len(rows))
    notes = ("plain averaging: one client can move the model anywhere", *weight_notes(client_weights))
    return weighted_sum("fedavg", rows, client_weights, notes=notes)
