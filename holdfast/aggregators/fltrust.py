"""FLTrust: believe a client as far as it points where the server's own data points."""

from typing import Any

import numpy as np

from .. import kernels
from ..core import Aggregate, rule
from ..updates.rows import Updates, rows_of
from .outcome import weighted_sum

__all__ = ["fltrust"]


@rule
def fltrust(updates: Updates, *, reference: Any) -> Aggregate:
    """Return the updates' mean, each as long as the reference, weighted by its cosine with it if positive.

    Cao et al., 2021, https://arxiv.org/abs/2012.13995. `reference` is the update the server makes on clean
    root data of its own. Nobody trusted, or a reference of zeros: the update is zero.

    >>> clients = np.array([[6.0, 8.0], [4.0, -3.0], [-3.0, -4.0]])
    >>> fltrust(clients, reference=np.array([3.0, 4.0])).update
    array([3., 4.])
    """
    rows = rows_of(updates)
    own = rows.layout.flat(reference, name="reference")
    squares, dots = kernels.projections(rows, own)
    norms, own_norm = np.sqrt(squares[:-1]), np.sqrt(squares[-1])
    lengths = norms * own_norm
    trust = np.maximum(0, np.divide(dots[:-1], lengths, out=np.zeros_like(norms), where=lengths > 0))
    total = trust.sum()
    client_weights = np.divide(trust * own_norm, norms * total, out=np.zeros_like(norms), where=trust > 0)
    notes = () if total > 0 else (_nobody_trusted(own_norm),)
    return weighted_sum("fltrust", rows, client_weights, notes=notes)


def _nobody_trusted(own_norm: float) -> str:
    if own_norm == 0:
        return "the server's own update is zero, and so is the result: the root data teaches nothing"
    return "no client points where the server's own data does: the update is zero"
