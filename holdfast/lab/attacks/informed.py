"""A craft of attackers who know everything: the honest updates, the server's rule and watch, its memory."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...defending import Defended
from ...errors import InputError
from ...watching.verdicts import ACCUSED

__all__ = ["full_information"]

Array = NDArray[Any]
Server = Callable[[Array], Defended]

GRID = 3.0  # between two strengths that are tried at first
AS_GOOD = 0.99  # of the most progress is as good as the most


def full_information(
    updates: Array,
    *,
    n_steps: int = 12,
    max_strength: float = 5.0,
    rehearsal: Array,
    attackers: Array,
    server: Server,
) -> Array:
    """Return the updates at the strength that gets furthest against this server, unsuspected by its watch.

    After the full-information adversary of "Hammer and Anvil", Fenaux et al., 2025,
    https://arxiv.org/abs/2509.08089. With the deviation, what the attack adds to the attackers' rehearsal,
    strength s sends `rehearsal + s * deviation`. The attackers ask the `server` what it would make of that:
    its rule, watch and memory included. The progress of s is how much further the server's update goes along
    the mean deviation than at s = 0. It counts only if the server aggregates, and if no attacker is suspected
    or expelled who is neither at s = 0.

    Sought is the least s in (0, max_strength] whose progress is within 1 % of the most: s = 0 is asked first,
    then half of the steps go from max_strength down by factors of 3, and the others halve the wider gap
    beside the best strength so far. That finds the edge of what a rule selects, and the foot of a plateau,
    where more brings nothing. If no strength makes progress, the attackers are honest in this round. Any
    rule can be asked, so that acceptance is measured by what it lets through; the paper's adversary optimises
    the backdoor's loss. Under plain averaging the default, 5, has a fifth of the clients replace the model.

    >>> from holdfast import defend, multi_krum
    >>> honest, own = np.array([[0.9], [1.0], [1.1], [1.2]]), np.array([[1.0]])
    >>> def server(rows):
    ...     return defend(np.vstack([honest, rows]), multi_krum(n_malicious=1))
    >>> full_information(own + 1, rehearsal=own, attackers=np.array([4]), server=server).round(1)
    array([[1.3]])
    """
    check_whole("n_steps, how often the server is asked,", n_steps, at_least=3)
    if not 0 < max_strength < np.inf:
        raise InputError(f"max_strength must be a finite number above 0; got {max_strength!r}")
    deviation = updates - rehearsal
    direction = deviation.mean(axis=0, dtype=np.float64)
    if not direction.any():
        return updates.copy()

    def sent(strength: float) -> Array:
        return np.asarray(rehearsal + updates.dtype.type(strength) * deviation)

    honest = server(sent(0.0))
    reached = np.asarray(honest.update, dtype=np.float64) @ direction

    def progress(strength: float) -> float:
        made = server(sent(strength))
        if not made.diagnostics.aggregated or _accused(made, attackers) - _accused(honest, attackers):
            return -np.inf
        return float(np.asarray(made.update, dtype=np.float64) @ direction - reached)

    n_first = n_steps // 2
    tried = {0.0: 0.0, **{s: progress(s) for s in max_strength / GRID ** np.arange(n_first)}}
    for _ in range(n_steps - n_first - 1):
        best = _least_of_best(tried)
        if best == max_strength:
            break
        strength = _next_strength(sorted(tried), best)
        tried[strength] = progress(strength)
    return sent(_least_of_best(tried))


def _accused(made: Defended, attackers: Array) -> set[Any]:
    """Return the attackers that the server's watch suspects or has expelled."""
    if made.verdicts is None:
        return set()
    return {client for standing in ACCUSED for client in made.verdicts.of(standing)} & set(attackers.tolist())


def _least_of_best(tried: dict[float, float]) -> float:
    """Return the least strength that makes about as much progress as any."""
    most = max(tried.values())
    return min(strength for strength, progress in tried.items() if progress >= AS_GOOD * most)


def _next_strength(strengths: list[float], best: float) -> float:
    """Return the middle of the wider of the gaps below and above the best."""
    gaps = [(high - low, low + high) for low, high in pairwise(strengths) if best in (low, high)]
    return max(gaps)[1] / 2
