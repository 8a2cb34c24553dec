"""Crafts of attackers who know that somebody watches: what they do to look like honest clients, or unlike
each other.

All start from the attackers' `rehearsal`, what they would send if they were honest. What their update adds to
it, the deviation, plants the backdoor, and could give them away.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...errors import InputError

__all__ = ["decorrelate", "dilute", "in_turn", "mimic", "ramp", "rotate", "split"]

Array = NDArray[Any]


def dilute(updates: Array, *, share: float = 0.5, rehearsal: Array) -> Array:
    """Return honest updates plus a share of what the attack adds: weaker, and harder to tell from noise.

    >>> dilute(np.array([[3.0, -1.0]]), share=0.25, rehearsal=np.array([[1.0, 1.0]]))
    array([[1.5, 0.5]])
    """
    if not 0 <= share <= 1:
        raise InputError(f"share, how much of the deviation is left, must be in [0, 1]; got {share!r}")
    return np.asarray(rehearsal + updates.dtype.type(share) * (updates - rehearsal))


def ramp(updates: Array, *, until: int, rehearsal: Array, round: int) -> Array:
    """Return honest updates plus a share of what the attack adds, which grows every round until it is whole.

    >>> attack, honest = np.array([[4.0]]), np.array([[0.0]])
    >>> [ramp(attack, until=4, rehearsal=honest, round=number).item() for number in (1, 2, 4, 9)]
    [1.0, 2.0, 4.0, 4.0]
    """
    check_whole("until, the round from which the deviation is whole,", until, at_least=1)
    return dilute(updates, share=min(1.0, round / until), rehearsal=rehearsal)


def decorrelate(updates: Array, *, strength: float = 1.0, rehearsal: Array, attackers: Array) -> Array:
    """Return the updates, each plus a random direction of its attacker's own, which hides what they share.

    After the cosine term of Cerberus, Lyu et al., 2023, https://doi.org/10.1609/aaai.v37i7.26083. An attacker
    keeps its direction, `strength` times as long as the deviation, throughout the training. What the
    directions of a round have in common is taken out, so that the attackers' mean stays what it was.

    >>> attack, honest = np.ones((2, 1000)), np.zeros((2, 1000))
    >>> first, second = decorrelate(attack, strength=0.5, rehearsal=honest, attackers=np.array([3, 8]))
    >>> print((first + second).round(6).max(), (first @ second / 1000).round(1))
    2.0 0.9
    """
    if not strength >= 0 or not np.isfinite(strength):
        raise InputError(f"strength must be a finite number of at least 0; got {strength!r}")
    lengths = np.linalg.norm((updates - rehearsal).astype(np.float64), axis=1, keepdims=True)
    own = np.stack([_own_direction(int(client), updates.shape[1]) for client in attackers])
    added = strength * lengths * own
    return np.asarray(updates + (added - added.mean(axis=0)).astype(updates.dtype))


def split(
    updates: Array, *, n_parts: int = 4, factor: float | None = None, rehearsal: Array, attackers: Array
) -> Array:
    """Return honest updates plus what the attack adds in every n-th coordinate, others for each attacker.

    Attackers of different parts have nothing in common. Where the deviation is left, it is scaled by the
    factor, by default n_parts: then attackers of all parts are together as strong as before.

    >>> attack, honest = np.full((2, 4), 7.0), np.zeros((2, 4))
    >>> split(attack, n_parts=2, rehearsal=honest, attackers=np.array([4, 9]))
    array([[14.,  0., 14.,  0.],
           [ 0., 14.,  0., 14.]])
    """
    check_whole("n_parts, how many share the coordinates,", n_parts, at_least=1)
    own = np.arange(updates.shape[1]) % n_parts == np.asarray(attackers)[:, None] % n_parts
    return _pushed_where(own, updates, rehearsal, n_parts if factor is None else factor)


def rotate(
    updates: Array,
    *,
    n_parts: int = 4,
    factor: float | None = None,
    secret: int = 0,
    rehearsal: Array,
    round: int,
) -> Array:
    """Push in one part of the coordinates, another in each round, and send honest updates elsewhere.

    After LaySelFL (CVPR 2026), whose attackers poison another subset of the sensitive layers in each round.
    Here all attackers push in the same random part, so a memory of past rounds holds little of the next one.

    Args:
        updates: One poisoned update per attacker.
        n_parts: The number of parts, and of rounds until a part comes round again.
        factor: The scale of the push in the part; by default `n_parts`, so that it is as strong as before.
        secret: The number from which the attackers draw the parts. The server does not know it.
        rehearsal: The honest update of each attacker.
        round: The number of the round.

    Returns:
        One update per attacker.

    >>> attack, honest = np.full((1, 4), 7.0), np.zeros((1, 4))
    >>> [rotate(attack, n_parts=2, rehearsal=honest, round=number).tolist() for number in (1, 2)]
    [[[0.0, 0.0, 14.0, 14.0]], [[14.0, 14.0, 0.0, 0.0]]]
    """
    check_whole("n_parts, the number of parts of the coordinates,", n_parts, at_least=1)
    check_whole("secret, the number that attackers share,", secret, at_least=0)
    part = np.random.default_rng(secret).permutation(updates.shape[1]) % n_parts
    return _pushed_where(part == round % n_parts, updates, rehearsal, n_parts if factor is None else factor)


def in_turn(updates: Array, *, n_turns: int = 3, rehearsal: Array, attackers: Array, round: int) -> Array:
    """Push only if it is the attacker's turn, and send an honest update otherwise.

    Attacker i pushes if i + round is a multiple of n_turns: about a third of the attackers in each round.

    Args:
        updates: One poisoned update per attacker.
        n_turns: The number of rounds in which every attacker pushes once.
        rehearsal: The honest update of each attacker.
        attackers: The attackers' ids.
        round: The number of the round.

    Returns:
        One update per attacker.

    >>> attack, honest = np.full((3, 1), 7.0), np.zeros((3, 1))
    >>> in_turn(attack, rehearsal=honest, attackers=np.array([3, 4, 5]), round=2).ravel()
    array([0., 7., 0.])
    """
    check_whole("n_turns, the rounds until every attacker has pushed,", n_turns, at_least=1)
    pushes = (np.asarray(attackers) + round) % n_turns == 0
    return np.where(pushes[:, None], updates, rehearsal)


def mimic(updates: Array, *, rehearsal: Array, benign: Array) -> Array:
    """Return one honest client's update plus what the attack adds, in place of the attackers' own updates.

    After Karimireddy et al., 2022, https://arxiv.org/abs/2006.09365, who copy a client and add nothing. The
    victim is the honest client of the round with the lowest id, so that it is often the same. Whoever expels
    the attackers may expel it with them. In a round without honest clients nothing is changed.

    >>> mimic(np.array([[3.0]]), rehearsal=np.array([[1.0]]), benign=np.array([[5.0], [9.0]]))
    array([[7.]])
    """
    return np.asarray(benign[0] + (updates - rehearsal)) if len(benign) else updates.copy()


def _pushed_where(where: Array, updates: Array, rehearsal: Array, factor: float) -> Array:
    """Return honest updates plus what the attack adds, scaled, in some coordinates."""
    scale = updates.dtype.type(factor)
    return np.where(where, rehearsal + scale * (updates - rehearsal), rehearsal)


def _own_direction(client: int, dim: int) -> Array:
    """Return a random direction of length one that a client has throughout the training."""
    drawn = np.random.default_rng(client).standard_normal(dim)
    return np.asarray(drawn / np.linalg.norm(drawn))
