"""Attackers who poison the few layers that carry the backdoor, and are honest in all others."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError

__all__ = ["critical_layers", "lp_attack"]

Array = NDArray[Any]
Trial = Callable[[Array], tuple[float, float]]
Layers = Sequence[tuple[str, slice]]


def lp_attack(
    updates: Array, *, share: float = 0.8, scale: float = 1.0, rehearsal: Array, layers: Layers, trial: Trial
) -> Array:
    """Return each attacker's poisoned update in its critical layers, and the mean honest one elsewhere.

    The layer-wise poisoning attack of Zhuang et al., 2024, https://arxiv.org/abs/2308.04466. In the critical
    layers `scale` weighs the poisoned update; what it leaves of 1 is honest. The paper bisects the scale
    against a simulated defence; here it is a setting, which a craft that asks the server can search.

    >>> bad, honest = np.array([[5.0, 5.0, 5.0]]), np.array([[1.0, 2.0, 3.0]])
    >>> layers = [("body", slice(0, 2)), ("head", slice(2, 3))]
    >>> lp_attack(bad, rehearsal=honest, layers=layers, trial=lambda update: (1.0, float(update[2] > 4)))
    array([[1., 2., 5.]])
    """
    if not scale >= 0 or not np.isfinite(scale):
        raise InputError(f"scale must be a finite number of at least 0; got {scale!r}")
    honest = rehearsal.mean(axis=0, dtype=np.float64).astype(updates.dtype)
    sent = np.repeat(honest[None], len(updates), axis=0)
    for row, bad, clean in zip(sent, updates, rehearsal, strict=True):
        for layer in critical_layers(bad, clean, share=share, layers=layers, trial=trial):
            row[layer] = scale * bad[layer] + max(0.0, 1 - scale) * honest[layer]
    return sent


def critical_layers(bad: Array, clean: Array, *, share: float, layers: Layers, trial: Trial) -> list[slice]:
    """Return the layers that give a clean update a share of the bad one's success, the most critical first.

    Forward substitution orders the layers: the less success a bad update has with a layer of the clean
    one, the more critical that layer is. Backward substitution takes them over in this order until the clean
    update with them has the share.
    """
    if not 0 < share <= 1:
        raise InputError(f"share, of the success of the whole update, must be in (0, 1]; got {share!r}")
    places = [place for _, place in layers]
    left = [trial(_with_layers(bad, clean, [place]))[1] for place in places]
    order = [places[at] for at in np.argsort(left, kind="stable")]
    needed = share * trial(bad)[1]
    n_taken = next(
        n for n in range(len(order) + 1) if trial(_with_layers(clean, bad, order[:n]))[1] >= needed
    )
    return order[:n_taken]


def _with_layers(update: Array, other: Array, places: Sequence[slice]) -> Array:
    """Return the update with some layers of the other."""
    mixed = update.copy()
    for place in places:
        mixed[place] = other[place]
    return mixed
