"""Leak and gain: how much of an attack, and how much of the honest step, is in what a rule returns."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["leak_and_gain"]

Array = NDArray[Any]

#: Coordinates that are measured at once. Fixed, so that the sums have the same bits on every machine.
BLOCK = 16_384


def leak_and_gain(updates: Array, is_attacker: Array, applied: Array) -> tuple[float | None, float | None]:
    """Return the leak and the gain of the update `applied`, which a rule made of one row per client.

    With `honest`, the mean of the honest rows, and `push`, the attackers' mean minus it:

        leak = <applied - honest, push> / <push, push>
        gain = <applied, honest> / <honest, honest>

    Plain averaging leaks the attackers' share. The honest mean itself has leak 0 and gain 1. Rows that are
    not finite, which no rule gets to see, do not count. None stands for what is not defined: without
    attackers or without honest clients, and where the divisor is zero.

    >>> updates = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [1.0, 4.0]])
    >>> is_attacker = np.array([False, False, False, True])
    >>> leak_and_gain(updates, is_attacker, updates.mean(axis=0))
    (0.25, 1.0)
    """
    attack = np.asarray(is_attacker, dtype=bool)
    sums = _sums(updates, attack, applied)
    if not all(map(math.isfinite, sums)):  # rare, so that nothing is looked for beforehand
        sums = _sums(updates, attack, applied, usable=_finite_rows(updates))
    leaked, pushed, gained, wanted = sums
    return _share(leaked, pushed), _share(gained, wanted)


def _sums(updates: Array, attack: Array, applied: Array, *, usable: Array | None = None) -> list[float]:
    """Return <applied - honest, push>, <push, push>, <applied, honest> and <honest, honest>."""
    sums = np.zeros(4)
    bad, good = (group if usable is None else group & usable for group in (attack, ~attack))
    if not good.any():
        return sums.tolist()
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, updates.shape[1], BLOCK):
            block = slice(start, start + BLOCK)
            ours = applied[block].astype(np.float64)
            honest = updates[good, block].mean(axis=0, dtype=np.float64)
            sums[2:] += (ours * honest).sum(), (honest * honest).sum()
            if bad.any():
                push = updates[bad, block].mean(axis=0, dtype=np.float64) - honest
                sums[:2] += ((ours - honest) * push).sum(), (push * push).sum()
    return sums.tolist()


def _finite_rows(updates: Array) -> Array:
    """Return which rows hold numbers only: the others are dropped before any rule sees them."""
    finite = np.ones(len(updates), dtype=bool)
    for start in range(0, updates.shape[1], BLOCK):
        finite &= np.isfinite(updates[:, start : start + BLOCK]).all(axis=1)
    return finite


def _share(part: float, whole: float) -> float | None:
    """Return part / whole where that is a number."""
    share = part / whole if whole else math.nan
    return share if math.isfinite(share) else None
