"""What rules share: checks of settings, notes for the operator, weights from sample counts."""

import math
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.counting import trim_count, whole_share
from ..core import Aggregate, Bound
from ..errors import InputError

__all__ = [
    "WITHIN_RANGE",
    "ZERO_OR_WITHIN_RANGE",
    "check_positive",
    "kept_notes",
    "mask_notes",
    "share_withstood",
    "shares",
    "trim_guarantee",
    "weight_notes",
    "weighted_trim_guarantee",
]

#: What coordinate-wise rules promise of an update, as `Diagnostics.promise`; and those with a mask.
WITHIN_RANGE = "every coordinate stays within the range of the honest clients' values"
ZERO_OR_WITHIN_RANGE = "every coordinate is zero or stays within the range of the honest clients' values"


def mask_notes(n_clients: int, n_votes: int, kept_fraction: float) -> tuple[str, ...]:
    """Return what an operator should know of a sign mask that does nothing, or lets nothing pass."""
    if n_votes > n_clients:
        return (f"the mask asks for more than all {n_clients} votes: no coordinate can ever move",)
    if 0 < n_votes <= 2 - n_clients % 2:
        # Signs that are no tie sum to at least 1 if their number is odd, at least 2 if it is even.
        return (
            f"with {n_clients} clients the mask passes every coordinate that is not tied: it does nothing."
            " Raise tau, or take more clients per round",
        )
    return kept_notes(kept_fraction, "tau") if n_votes > 0 else ()


def kept_notes(kept_fraction: float, setting: str) -> tuple[str, ...]:
    """Return a warning where a mask keeps almost nothing or everything, and which setting to turn."""
    share = f"the mask keeps {kept_fraction:.2%} of the coordinates"
    if kept_fraction < 0.01:
        return (f"{share}: almost nothing is learned. Lower {setting}",)
    if kept_fraction > 0.99:
        return (f"{share}: it hardly does anything. Raise {setting}",)
    return ()


def trim_guarantee(alpha: float, n_clients: int) -> dict[str, Any]:
    """Return what the theorems on trimming say of this round, as fields of Diagnostics."""
    n_trimmed = trim_count(alpha, n_clients)
    n_wanted = whole_share(alpha, n_clients)
    note = ""
    if n_trimmed == 0:
        note = (
            f"nothing is trimmed (alpha={alpha}, {n_clients} clients): one client can move the mean anywhere"
        )
    elif n_wanted > n_trimmed:
        note = f"alpha={alpha} asks to trim {n_wanted} of {n_clients} at each end; only {n_trimmed} can be"
    notes = (note,) if note else ()
    return {"covered": not note, "tolerates": n_trimmed, "promise": WITHIN_RANGE, "notes": notes}


def weighted_trim_guarantee(alpha: float, client_shares: NDArray[np.float64]) -> dict[str, Any]:
    """Return what trimming a share of the weight promises in this round, as fields of Diagnostics.

    >>> weighted_trim_guarantee(0.25, np.array([0.3, 0.4, 0.2, 0.1]))["notes"]
    ('one client has 40% of the weight, but 25% is trimmed at each end: it can move the mean alone',)
    """
    heaviest = np.sort(client_shares)[::-1]
    n_tolerated = int(np.searchsorted(np.cumsum(heaviest), alpha + 1e-9, side="right"))
    notes: tuple[str, ...] = ()
    if n_tolerated == 0:
        notes = (
            f"one client has {heaviest[0]:.0%} of the weight, but {alpha:.0%} is trimmed at each end:"
            " it can move the mean alone",
        )
    told = {"promise": WITHIN_RANGE, "notes": notes}
    return {"covered": n_tolerated > 0, "tolerates": n_tolerated, **told}


def share_withstood(rule: Bound[Aggregate]) -> float:
    """Return the share of the weight that a rule, or the one behind it, stands: what it trims, or else half.

    >>> from holdfast.aggregators import rfa, weighted_trimmed_mean
    >>> share_withstood(weighted_trimmed_mean(alpha=0.2)), share_withstood(rfa)
    (0.2, 0.5)
    """
    if rule.inner is not None:
        return share_withstood(rule.inner)
    alpha = dict(rule.settings).get("alpha")
    return alpha if isinstance(alpha, float) and 0 < alpha < 0.5 else 0.5


def weight_notes(client_shares: NDArray[np.float64]) -> tuple[str, ...]:
    """Return a warning where one client says that it holds more examples than all others together."""
    largest = client_shares.max()
    if len(client_shares) > 1 and largest > 0.5 + 1e-9:
        return (f"one client claims {largest:.0%} of all examples, and so of the weight",)
    return ()


def shares(weights: ArrayLike | None, n_clients: int) -> NDArray[np.float64]:
    """Return each client's share of all examples; equal shares where there are none."""
    if weights is None:
        return np.full(n_clients, 1 / n_clients)
    try:
        counts = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"weights must hold one number per client; got {weights!r}") from None
    if counts.shape != (n_clients,):
        raise InputError(f"weights must hold one number per client: {n_clients}; got shape {counts.shape}")
    is_possible = np.isfinite(counts) & (counts >= 0)
    if not is_possible.all():
        raise InputError(f"weights must be finite and not negative; got {counts[~is_possible][:5].tolist()}")
    largest = counts.max(initial=0.0)
    if largest == 0:
        return np.full(n_clients, 1 / n_clients)
    return np.asarray(counts / largest / (counts / largest).sum())


def check_positive(name: str, value: Any, *, or_zero: bool = False) -> None:
    """Raise unless the setting is a finite number above zero, or zero if that is allowed."""
    is_number = isinstance(value, Real) and not isinstance(value, bool) and math.isfinite(value)
    if not is_number or value < 0 or (value == 0 and not or_zero):
        bound = "of at least" if or_zero else "above"
        raise InputError(f"{name} must be a finite number {bound} 0; got {value!r}")
