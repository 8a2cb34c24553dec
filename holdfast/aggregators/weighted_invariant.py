"""The weighted invariant aggregator: the weighted trimmed mean, where most of the weight has one sign."""

from numpy.typing import ArrayLike

from .._support.counting import checked_alpha, checked_tau
from ..core import Aggregate, rule
from ..kernels import weighted
from ..updates.rows import Updates, rows_of
from .adapting import fewer_trimmed
from .outcome import outcome
from .settings import ZERO_OR_WITHIN_RANGE, kept_notes, shares, weighted_trim_guarantee

__all__ = ["weighted_invariant"]


@rule(adapt=fewer_trimmed)
def weighted_invariant(
    updates: Updates, *, tau: float = 0.6, alpha: float = 0.25, weights: ArrayLike | None = None
) -> Aggregate:
    """Return the weighted trimmed mean where |sum of weights times signs| >= tau * sum of weights, else 0.

    The rule of Wang et al., 2024, https://arxiv.org/abs/2210.01834, for clients of different size; with equal
    weights and a whole alpha * n it is `invariant`, and with alpha=0 it is the weighted AND-mask. Where
    tau >= 1 - 2 * alpha, every coordinate that moves moves the way of most of the weight, whatever
    clients with at most the share alpha of it send.

    >>> import numpy as np
    >>> updates = np.array([[1.0, 1.0], [1.2, -1.0], [-50.0, 9.0]])
    >>> weighted_invariant(updates, tau=0.6, alpha=0.2, weights=[4, 4, 2]).update
    array([1.06666667, 0.        ])
    """
    share, agreement = checked_alpha(alpha), checked_tau(tau)
    rows = rows_of(updates)
    client_shares = shares(weights, len(rows))
    seen = weighted.trimmed_mean(rows, client_shares, alpha=share, tau=agreement)
    kept = seen.n_kept / rows.dim

    guarantee = weighted_trim_guarantee(share, client_shares) | {"promise": ZERO_OR_WITHIN_RANGE}
    notes = (*guarantee.pop("notes"), *(kept_notes(kept, "tau") if agreement > 0 else ()))
    if agreement < 1 - 2 * share - 1e-9:
        guarantee["covered"] = False
        notes += (
            f"a coordinate can pass with {(1 - agreement) / 2:.0%} of the weight against it, but {share:.0%}"
            f" is trimmed: its direction may hang on magnitudes; tau >= {1 - 2 * share:.3g} rules that out",
        )
    return outcome("weighted_invariant", rows, seen, kept_fraction=kept, notes=notes, **guarantee)
