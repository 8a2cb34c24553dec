"""Crafts change attackers' updates before they are sent: updates in, updates out.

A craft takes the (n_attackers, dim) updates of the attackers that were drawn in this round, and returns as
many. What else it needs, it asks for by name: `previous`, the last global update; `benign`, the honest rows,
for attackers who see everything; `rehearsal`, what the attackers would send if they were honest; and all that
`ROLES["craft"]` in `holdfast.core` lists. One that keeps something for the next round returns it in Crafted.
"""

from collections.abc import Mapping
from statistics import NormalDist
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole, votes_needed
from ...errors import InputError

__all__ = [
    "Crafted",
    "adaptive",
    "adaptive_oracle",
    "adaptive_simulated",
    "alie",
    "boost",
    "boost_together",
    "gaussian",
    "inner_product",
    "neurotoxin",
    "sign_flip",
]

Array = NDArray[Any]


class Crafted(NamedTuple):
    """What a craft returns that keeps something: the updates, and arrays by name, its `state` next time."""

    updates: Array
    state: Mapping[str, Array]


def boost(updates: Array, *, factor: float) -> Array:
    """Return the updates scaled so that they survive averaging: model replacement.

    Bagdasaryan et al., 2020, https://arxiv.org/abs/1807.00459. All examples of the round over the attacker's
    own is the factor that replaces the model.

    >>> boost(np.array([[0.5, -1.0]]), factor=20.0)
    array([[ 10., -20.]])
    """
    return np.asarray(updates * updates.dtype.type(factor))


def boost_together(updates: Array, *, total: float) -> Array:
    """Return the same for the attackers of a round together: each is scaled by its share of the total.

    >>> boost_together(np.array([[0.5, -1.0], [0.0, 2.0]]), total=20.0)
    array([[  5., -10.],
           [  0.,  20.]])
    """
    _positive("total", total)
    return boost(updates, factor=total / len(updates))


def adaptive(updates: Array, *, cap: float = 10.0, previous: Array | None = None) -> Array:
    """Return the updates, as strong as before in the coordinates that the server's mask lets pass.

    Wang et al., 2024, https://arxiv.org/abs/2210.01834. Which those are shows in the last global update:
    what the mask stopped did not move. In the first round nothing is known, and nothing is changed.

    >>> adaptive(np.array([[3.0, 4.0, 0.0, 12.0]]), previous=np.array([0.1, -0.2, 0.0, 0.0]))
    array([[ 7.8, 10.4,  0. , 12. ]])
    """
    return updates.copy() if previous is None else _concentrated(updates, previous != 0, cap)


def adaptive_oracle(
    updates: Array, *, tau: float = 0.6, strict: bool = False, cap: float = 10.0, benign: Array
) -> Array:
    """Return `adaptive` updates of attackers who see this round's honest rows, and so the mask itself.

    Their own rows count in it; scaling them up changes no sign, and so not the mask.

    >>> honest = np.array([[1.0, 1.0], [1.0, -1.0], [1.0, 1.0]])
    >>> adaptive_oracle(np.array([[3.0, 4.0]]), benign=honest)
    array([[5., 4.]])
    """
    return _concentrated(updates, _passes(np.vstack([benign, updates]), tau, strict), cap)


def adaptive_simulated(
    updates: Array, *, tau: float = 0.6, strict: bool = False, cap: float = 10.0, rehearsal: Array
) -> Array:
    """Return `adaptive` updates for a server without a mask: attackers compute one from honest updates.

    >>> adaptive_simulated(np.array([[3.0, 4.0]]), rehearsal=np.array([[1.0, 0.0]]))
    array([[5., 4.]])
    """
    return _concentrated(updates, _passes(rehearsal, tau, strict), cap)


def neurotoxin(updates: Array, *, kept: float = 0.95, previous: Array | None = None) -> Array:
    """Return the updates, only in the share `kept` of coordinates that the last global update moved least.

    Zhang et al., 2022, https://arxiv.org/abs/2206.10341: nobody overwrites what is hidden there.

    >>> neurotoxin(np.ones((1, 4)), kept=0.5, previous=np.array([0.5, -0.1, 0.02, -2.0]))
    array([[0., 1., 1., 0.]])
    """
    if not 0 < kept <= 1:
        raise InputError(f"kept, the share of coordinates, must be in (0, 1]; got {kept!r}")
    if previous is None:
        return updates.copy()
    quiet = np.argsort(np.abs(previous), kind="stable")[: int(kept * previous.size + 1e-9)]
    hidden = np.zeros_like(updates)
    hidden[:, quiet] = updates[:, quiet]
    return hidden


def alie(updates: Array, *, z: float | None = None, benign: Array) -> Array:
    """Return the honest mean shifted by z deviations, as far as a majority does not notice. Untargeted.

    "A little is enough", Baruch et al., 2019, https://arxiv.org/abs/1902.06156. In a round in which the
    attackers are a majority by themselves, z is as if they needed one honest client to be one. Without honest
    clients nothing is changed.

    >>> alie(np.zeros((1, 2)), z=0.5, benign=-np.array([[1.0, 2.0], [3.0, 2.0], [2.0, 5.0]])).round(4)
    array([[-1.5918, -2.2929]])
    """
    if len(benign) == 0:
        return updates.copy()
    shift = alie_shift(len(benign) + len(updates), len(updates)) if z is None else z
    row = benign.mean(axis=0, dtype=np.float64) + shift * benign.std(axis=0, dtype=np.float64)
    return np.repeat(row[None].astype(updates.dtype), len(updates), axis=0)


def alie_shift(n_clients: int, n_attackers: int) -> float:
    """Return how many deviations a majority of honest clients still covers."""
    check_whole("n_attackers", n_attackers, at_least=0, at_most=n_clients - 1)
    n_honest = n_clients - n_attackers
    n_needed = max(1, n_clients // 2 + 1 - n_attackers)
    covered = (n_honest - n_needed) / n_honest
    return NormalDist().inv_cdf(covered) if covered > 0 else 0.0  # one honest client deviates from nobody


def inner_product(updates: Array, *, epsilon: float = 0.5, benign: Array) -> Array:
    """Return the honest mean times -epsilon: inner product manipulation. Untargeted.

    Xie et al., 2020, https://arxiv.org/abs/1903.03936. In a round without honest clients nothing is changed.

    >>> inner_product(np.zeros((1, 2)), benign=np.array([[1.0, 2.0], [3.0, 2.0], [2.0, 5.0]]))
    array([[-1. , -1.5]])
    """
    if len(benign) == 0:
        return updates.copy()
    row = -epsilon * benign.mean(axis=0, dtype=np.float64)
    return np.repeat(row[None].astype(updates.dtype), len(updates), axis=0)


def sign_flip(updates: Array, *, factor: float = 1.0) -> Array:
    """Return the updates with flipped signs, and scaled. Untargeted.

    >>> sign_flip(np.array([[1.0, -2.0]]), factor=3.0)
    array([[-3.,  6.]])
    """
    return np.asarray(updates * updates.dtype.type(-factor))


def gaussian(updates: Array, *, sigma: float = 1.0, rng: np.random.Generator) -> Array:
    """Return normal noise in place of the updates. Untargeted."""
    _positive("sigma", sigma)
    return (sigma * rng.standard_normal(updates.shape)).astype(updates.dtype)


def _concentrated(updates: Array, passes: NDArray[np.bool_], cap: float) -> Array:
    """Return the updates scaled where the mask passes, so that what passes is as long as the whole was."""
    if not cap >= 1:
        raise InputError(f"cap, the most that a coordinate is scaled by, must be at least 1; got {cap!r}")
    wide = updates.astype(np.float64)
    whole, part = np.linalg.norm(wide, axis=1), np.linalg.norm(wide * passes, axis=1)
    scale = np.minimum(np.divide(whole, part, out=np.ones_like(whole), where=part > 0), cap)
    return np.where(passes, wide * scale[:, None], wide).astype(updates.dtype)


def _passes(rows: Array, tau: float, strict: bool) -> NDArray[np.bool_]:
    agreement = np.abs(np.sign(rows).sum(axis=0))
    return np.asarray(agreement >= votes_needed(tau, len(rows), strict=strict))


def _positive(name: str, value: float) -> None:
    if not value > 0 or not np.isfinite(value):
        raise InputError(f"{name} must be a finite number above 0; got {value!r}")
