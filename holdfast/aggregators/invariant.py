"""The invariant aggregator: the trimmed mean, where enough clients agree on the sign."""

from collections.abc import Mapping
from types import MappingProxyType

from .. import kernels
from .._support.counting import largest_minority, trim_count, votes_needed
from ..core import Aggregate, rule
from ..updates.rows import Updates, rows_of
from .adapting import fewer_trimmed
from .outcome import outcome
from .settings import ZERO_OR_WITHIN_RANGE, mask_notes, trim_guarantee

__all__ = ["PUBLISHED", "invariant"]

#: The published settings: per task in the paper's table, and what its released code has written into it.
#: Use as invariant(**PUBLISHED["twitter"]).
PUBLISHED: Mapping[str, Mapping[str, float]] = MappingProxyType(
    {
        "cifar10": MappingProxyType({"tau": 0.2, "alpha": 0.25}),
        "twitter": MappingProxyType({"tau": 0.6, "alpha": 0.25}),
        "phishing": MappingProxyType({"tau": 0.6, "alpha": 0.25}),
        "released_code": MappingProxyType({"tau": 0.6, "alpha": 0.45}),
    }
)


@rule(adapt=fewer_trimmed)
def invariant(updates: Updates, *, tau: float = 0.6, alpha: float = 0.25, strict: bool = False) -> Aggregate:
    """Return the trimmed mean of each coordinate where |sum of signs| >= tau * n (> if strict), else 0.

    Wang et al., 2024, https://arxiv.org/abs/2210.01834. Signs are counted over all rows; a zero is on
    neither side. Where tau >= 1 - 2k/n, k the number trimmed at each end, every coordinate that moves
    moves the way of the majority, whatever up to k malicious clients send.

    >>> import numpy as np
    >>> invariant(np.array([[1.0, 1.0], [1.2, -1.0], [0.8, 1.1], [1.2, -0.9], [-50.0, 9.0]])).update
    array([1., 0.])
    """
    rows = rows_of(updates)
    n = len(rows)
    n_trimmed = trim_count(alpha, n)
    n_votes = votes_needed(tau, n, strict=strict)
    seen = kernels.trimmed_mean(rows, n_trimmed=n_trimmed, n_votes=n_votes)
    kept = seen.n_kept / rows.dim

    guarantee = trim_guarantee(alpha, n) | {"promise": ZERO_OR_WITHIN_RANGE}
    n_against = largest_minority(n_votes, n)
    notes = (*guarantee.pop("notes"), *mask_notes(n, n_votes, kept))
    if n_against > n_trimmed:
        guarantee["covered"] = False
        notes += (
            f"a coordinate can pass with {n_against} clients against it, but {n_trimmed} are trimmed:"
            f" its direction may hang on magnitudes; tau >= {1 - 2 * n_trimmed / n:.3g} rules that out",
        )
    return outcome("invariant", rows, seen, kept_fraction=kept, notes=notes, **guarantee)
