"""Mean-variance mask: the trimmed mean, where the mean stands out of the clients' spread."""

from .. import kernels
from .._support.counting import trim_count
from ..core import Aggregate, rule
from ..errors import TooFewClientsError
from ..updates.rows import Updates, rows_of
from .adapting import fewer_trimmed
from .outcome import outcome
from .settings import check_positive, kept_notes, trim_guarantee

__all__ = ["mean_variance_mask"]


@rule(adapt=fewer_trimmed)
def mean_variance_mask(updates: Updates, *, kappa: float = 0.731, alpha: float = 0.25) -> Aggregate:
    """Return the trimmed mean of each coordinate where |mean| / standard deviation >= kappa, else 0.

    The ablation of Wang et al., 2024, https://arxiv.org/abs/2210.01834. Clients of equal magnitude whose
    signs agree by tau have a ratio of tau / sqrt(1 - tau²) * sqrt((n - 1) / n): the default is tau = 0.6
    at n = 20.

    >>> import numpy as np
    >>> mean_variance_mask(np.array([[1.0, 0.0], [2.0, 0.0], [3.0, 0.0], [2.0, 1.0]])).update
    array([2., 0.])
    """
    check_positive("kappa", kappa, or_zero=True)
    rows = rows_of(updates)
    if len(rows) < 2:
        raise TooFewClientsError(f"mean_variance_mask needs at least 2 clients; got {len(rows)}")
    seen = kernels.mean_ratio_trimmed(rows, n_trimmed=trim_count(alpha, len(rows)), kappa=float(kappa))
    kept = seen.n_kept / rows.dim
    notes = (*trim_guarantee(alpha, len(rows))["notes"], *kept_notes(kept, "kappa"))
    return outcome("mean_variance_mask", rows, seen, kept_fraction=kept, notes=notes)
