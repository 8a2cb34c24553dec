"""Multi-Krum: the mean of the updates that sit deepest in the crowd."""

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.counting import check_whole
from ..core import Aggregate, rule
from ..errors import TooFewClientsError
from ..updates.rows import Updates, rows_of
from .adapting import krum_attackers
from .krum import crowd_scores, krum_guarantee
from .outcome import weighted_sum
from .settings import shares, weight_notes

__all__ = ["multi_krum"]


@rule(adapt=krum_attackers)
def multi_krum(
    updates: Updates,
    *,
    n_malicious: int,
    n_selected: int | None = None,
    weighted: bool = False,
    weights: ArrayLike | None = None,
) -> Aggregate:
    """Return the mean of the n_selected (by default n - f) updates with the best Krum scores.

    Blanchard et al., 2017, https://arxiv.org/abs/1703.02757. f is `n_malicious`. Unweighted by
    default: a sample count is what a client says of itself.

    >>> crowd = np.array([[1.0], [1.1], [0.9], [1.0], [99.0]])
    >>> multi_krum(crowd, n_malicious=1).update
    array([1.])
    """
    rows = rows_of(updates)
    selected = selection(crowd_scores("multi_krum", rows, n_malicious), n_malicious, n_selected)
    client_weights = selected / selected.sum()
    if weighted:
        client_weights[selected] = shares(shares(weights, len(rows))[selected], int(selected.sum()))
    guarantee = krum_guarantee(len(rows), n_malicious)
    if selected.sum() > 1:  # what is proved is proved of the one best row
        guarantee |= {"covered": None if guarantee["covered"] else False, "tolerates": None, "promise": None}
    if weighted:
        guarantee["notes"] += weight_notes(client_weights)
    return weighted_sum("multi_krum", rows, client_weights, skips=True, selected=selected, **guarantee)


def selection(scores: NDArray[np.float64], n_malicious: int, n_selected: int | None) -> NDArray[np.bool_]:
    """Return which rows are the n_selected (by default n - f) with the lowest scores; ties to the first."""
    n_selected = len(scores) - n_malicious if n_selected is None else n_selected
    check_whole("n_selected", n_selected, at_least=1)
    if n_selected > len(scores):
        raise TooFewClientsError(
            "n_selected asks for more clients than there are; lower it, or leave it out to select n - f: got"
            f" {len(scores)} clients, n_selected={n_selected}"
        )
    return np.isin(np.arange(len(scores)), np.argsort(scores, kind="stable")[:n_selected])
