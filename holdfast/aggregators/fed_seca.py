"""FedSECA: clients elect the sign of each coordinate, and those who have it are averaged."""

import numpy as np

from .. import kernels
from .._support.counting import as_written, whole_share
from ..core import Aggregate, rule
from ..errors import InputError
from ..kernels.elections import concordance, elected_mean
from ..kernels.largest import cutoffs
from ..updates.rows import Updates, rows_of
from .geometry import clip_factors
from .outcome import outcome

__all__ = ["fed_seca"]


@rule
def fed_seca(updates: Updates, *, kept: float = 0.1) -> Aggregate:
    """Return the mean of each coordinate over the clients with the elected sign, their magnitudes clamped.

    Benjamin et al., 2025, https://arxiv.org/abs/2411.03861. A client's vote is its concordance ratio: the
    share of clients with whom it agrees in more signs than not, less the share of those with whom it does
    not, and at least 0. Updates are clipped to the median length and then, coordinate by coordinate, to the
    lower median of the magnitudes. Each client adds the share `kept` of its coordinates, those with the
    largest magnitudes. The published code elects by these coordinates alone and clamps what it has not
    clipped; this is the rule without that, and without its momentum on the server.

    >>> crowd = np.array([[1.0, -2.0, 3.0], [1.5, -1.0, 2.0], [2.0, -3.0, -1.0], [-9.0, 9.0, -9.0]])
    >>> fed_seca(crowd, kept=1.0).update.round(3)
    array([ 1.333, -1.667,  2.   ])
    """
    share = as_written(kept, "kept")
    if not 0 < share <= 1:
        raise InputError(
            f"kept, the share of coordinates that a client adds, must be in (0, 1]; got {kept!r}"
        )
    rows = rows_of(updates)
    votes = np.maximum(np.sign(concordance(rows)).sum(axis=1), 0)  # n times the concordance ratios
    norms = np.sqrt(kernels.squared_norms(rows))
    seen = elected_mean(
        rows,
        votes=votes,
        factors=clip_factors(norms, float(np.median(norms))),
        cutoffs=cutoffs(rows, max(1, whole_share(share, rows.dim))).values,
    )
    n_silent = int((votes == 0).sum())
    notes = (f"{len(rows) - n_silent} of {len(rows)} clients have a vote",)
    if n_silent == len(rows):
        notes = (f"no two groups of signs agree: none of {n_silent} clients has a vote, the update is zero",)
    return outcome("fed_seca", rows, seen, kept_fraction=seen.n_kept / rows.dim, notes=notes)
