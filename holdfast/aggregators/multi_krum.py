"""Multi-Krum: the mean of the updates that sit deepest in the crowd."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kernels
from ..core import Aggregate, rule
from ..errors import InputError
from ..updates.rows import Rows, Updates, rows_of
from .geometry import squared_distances
from .krum import check_crowd, crowd_scores, krum_guarantee
from .outcome import outcome
from .settings import check_whole, shares, weight_notes

__all__ = ["multi_krum"]

Array = NDArray[np.float64]


@rule
def multi_krum(
    updates: Updates,
    *,
    n_malicious: int,
    n_selected: int | None = None,
    weighted: bool = False,
    weights: ArrayLike | None = None,
) -> Aggregate:
    """Return the mean of the n_selected (by default n - f) updates with the best Krum scores.

    Blanchard et al., 2017, https://arxiv.org/abs/1703.02757. Unweighted by default: a sample count is
    what a client says of itself.

    >>> crowd = np.array([[1.0], [1.1], [0.9], [1.0], [99.0]])
    >>> multi_krum(crowd, n_malicious=1).update
    array([1.])
    """
    rows = rows_of(updates)
    check_crowd("multi_krum", len(rows), n_malicious)
    selected = select_crowd(rows, squared_distances(kernels.gram(rows)), n_malicious, n_selected)
    client_weights = np.zeros(len(rows))
    client_weights[selected] = 1 / len(selected)
    if weighted:
        client_weights[selected] = shares(shares(weights, len(rows))[selected], len(selected))
    guarantee = krum_guarantee(len(rows), n_malicious)
    if len(selected) > 1:  # what is proved is proved of the one best row
        guarantee["covered"], guarantee["tolerates"] = None if guarantee["covered"] else False, None
    return outcome(
        "multi_krum",
        rows,
        kernels.combine(rows, client_weights),
        client_weights=client_weights,
        selected=np.isin(np.arange(len(rows)), selected),
        notes=(*guarantee.pop("notes"), *(weight_notes(client_weights) if weighted else ())),
        **guarantee,
    )


def select_crowd(rows: Rows, distances: Array, n_malicious: int, n_selected: int | None) -> NDArray[np.intp]:
    """Return the positions of the n_selected rows with the best scores, in order; ties to the lowest."""
    n_selected = len(rows) - n_malicious if n_selected is None else n_selected
    check_whole("n_selected", n_selected, at_least=1)
    if n_selected > len(rows):
        raise InputError(f"n_selected must be at most the number of clients, {len(rows)}; got {n_selected}")
    return np.sort(np.argsort(crowd_scores(distances, n_malicious), kind="stable")[:n_selected])
