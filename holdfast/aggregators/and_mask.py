"""AND-mask: the mean, where enough clients agree on the sign."""

from .. import kernels
from .._support.counting import votes_needed
from ..core import Aggregate, rule
from ..updates.rows import Updates, rows_of
from .outcome import outcome
from .settings import mask_notes

__all__ = ["and_mask"]


@rule
def and_mask(updates: Updates, *, tau: float = 0.6, strict: bool = False) -> Aggregate:
    """Return the mean of each coordinate where |sum of signs| >= tau * n (> if strict), else 0.

    Parascandolo et al., 2021, https://arxiv.org/abs/2009.00329

    >>> import numpy as np
    >>> and_mask(np.array([[1.0, 1.0], [2.0, -2.0], [3.0, 3.0]]), tau=0.6).update
    array([2., 0.])
    """
    rows = rows_of(updates)
    n_votes = votes_needed(tau, len(rows), strict=strict)
    seen = kernels.trimmed_mean(rows, n_trimmed=0, n_votes=n_votes)
    kept = seen.n_kept / rows.dim
    return outcome("and_mask", rows, seen, kept_fraction=kept, notes=mask_notes(len(rows), n_votes, kept))
