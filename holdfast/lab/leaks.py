"""Leak, gain and dose: how much of an attack, and how much of the honest step, is in what a rule returns."""

import math
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

__all__ = ["Let", "let_through"]

Array = NDArray[Any]

#: Coordinates that are measured at once. Fixed, so that the sums have the same bits on every machine.
BLOCK = 16_384


#: Where attackers push nearly along the honest step, or against it, it cannot be told what is whose.
TOO_ALIKE = 1e-9


class Let(NamedTuple):
    """What a rule let through. None stands for what is not defined."""

    leak: float | None = None  # how much of the attack
    gain: float | None = None  # how much of the honest step
    dose: float | None = None  # how much attack there is to an honest step


def let_through(updates: Array, is_attacker: Array, applied: Array) -> Let:
    """Return what is in the update `applied`, which a rule made of one row per client.

    With `honest`, the mean of the honest rows, and `push`, the attackers' mean minus it:

        leak = <applied - honest, push> / <push, push>
        gain = <applied, honest> / <honest, honest>
        dose = p / g, where g honest + p push is the best fit to applied

    Plain averaging leaks the attackers' share, which is also its dose. The honest mean itself has leak 0,
    gain 1 and dose 0. A rule that merely slows down, which returns half of another one's update, has its
    dose, but another leak. Rows that are not finite, which no rule gets to see, do not count. Without
    attackers, leak and dose are not defined, and without an honest step that is left, the dose is not.

    >>> updates = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 0.0], [2.0, 4.0]])
    >>> is_attacker = np.array([False, False, False, True])
    >>> let_through(updates, is_attacker, updates.mean(axis=0))
    Let(leak=0.25, gain=1.25, dose=0.25)
    >>> let_through(updates, is_attacker, updates.mean(axis=0) / 2).dose
    0.25
    """
    attack = np.asarray(is_attacker, dtype=bool)
    sums = _sums(updates, attack, applied)
    if not all(map(math.isfinite, sums)):  # rare, so that nothing is looked for beforehand
        sums = _sums(updates, attack, applied, usable=_finite_rows(updates))
    leaked, pushed, gained, wanted, _ = sums
    return Let(_share(leaked, pushed), _share(gained, wanted), _dose(*sums))


def _sums(updates: Array, attack: Array, applied: Array, *, usable: Array | None = None) -> list[float]:
    """Return <applied - honest, push>, <push, push>, <applied, honest>, <honest, honest>, <honest, push>."""
    sums = np.zeros(5)
    bad, good = (group if usable is None else group & usable for group in (attack, ~attack))
    if not good.any():
        return sums.tolist()
    with np.errstate(over="ignore", invalid="ignore"):
        for start in range(0, updates.shape[1], BLOCK):
            block = slice(start, start + BLOCK)
            ours = applied[block].astype(np.float64)
            honest = updates[good, block].mean(axis=0, dtype=np.float64)
            sums[2:4] += (ours * honest).sum(), (honest * honest).sum()
            if bad.any():
                push = updates[bad, block].mean(axis=0, dtype=np.float64) - honest
                sums[:2] += ((ours - honest) * push).sum(), (push * push).sum()
                sums[4] += (honest * push).sum()
    return sums.tolist()


def _dose(leaked: float, pushed: float, gained: float, wanted: float, common: float) -> float | None:
    """Return the attack's part over the honest part of the best fit."""
    attack = (leaked + common) * wanted - gained * common
    honest = gained * pushed - (leaked + common) * common
    is_told = pushed * wanted - common * common > TOO_ALIKE * pushed * wanted
    return _share(attack, honest) if is_told and honest > 0 else None


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
