"""RLR, robust learning rate: step backwards where too few clients agree."""

from numpy.typing import ArrayLike

from .. import kernels
from .._support.counting import check_whole
from ..core import Aggregate, rule
from ..errors import TooFewClientsError
from ..updates.rows import Updates, rows_of
from .outcome import outcome
from .settings import shares, weight_notes

__all__ = ["rlr"]


@rule
def rlr(updates: Updates, *, threshold: int, weights: ArrayLike | None = None) -> Aggregate:
    """Return the weighted mean, reversed where |sum of signs| < threshold.

    Ozdayi et al., 2021, https://arxiv.org/abs/2007.03767. The threshold is a count of votes; twice the
    number of attackers is usual. With fewer clients than that, every coordinate would be reversed: it raises
    TooFewClientsError. `kept_fraction` is the share of coordinates that is not reversed.

    >>> import numpy as np
    >>> rlr(np.array([[1.0, 1.0], [2.0, 2.0], [3.0, -9.0]]), threshold=3).update
    array([2., 2.])
    """
    check_whole("threshold", threshold, at_least=0)
    rows = rows_of(updates)
    if threshold > len(rows):
        raise TooFewClientsError(
            "rlr needs a client for each vote of its threshold, or every coordinate goes backwards; lower the"
            f" threshold, or take more clients per round: got {len(rows)} clients, threshold={threshold}"
        )
    client_weights = shares(weights, len(rows))
    seen = kernels.combine(rows, client_weights, n_votes=int(threshold), below=-1.0)
    forward = seen.n_kept / rows.dim
    notes = weight_notes(client_weights)
    if forward < 0.5:
        share = f"{1 - forward:.1%} of the coordinates"
        notes = (f"{share} go backwards: lower the threshold of {threshold} votes", *notes)
    return outcome("rlr", rows, seen, client_weights=client_weights, kept_fraction=forward, notes=notes)
