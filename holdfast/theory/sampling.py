"""Attackers drawn into a round, and guarantees per round and over all rounds.

A server that draws its clients at random does not choose how many attackers it gets. A guarantee for up to k
attackers holds in a round only if no more than k are drawn.
"""

import numpy as np
from numpy.typing import ArrayLike

from .checks import FloatArray, in_range, probabilities, whole_numbers
from .laws import binomial, hypergeometric
from .one_dimension import Chances, chances_of
from .rules import SignRule

__all__ = ["chance_of_more", "over_rounds", "sampled_clients", "values_against"]


def chance_of_more(
    n_tolerated: ArrayLike, *, n_clients: int, n_malicious: int, n_per_round: int
) -> FloatArray:
    """Return the chance that a round draws more attackers than are tolerated.

    >>> chance_of_more([5, 9], n_clients=100, n_malicious=20, n_per_round=20).round(5)
    array([0.17273, 0.00065])
    """
    law = hypergeometric(n_clients, n_malicious, n_per_round)
    tails = np.append(law[::-1].cumsum()[::-1], 0.0)  # added from the rare end
    tolerated = whole_numbers("n_tolerated", n_tolerated, 0, n_per_round)
    return np.asarray(np.minimum(1.0, tails[tolerated + 1]))[()]


def over_rounds(chance: ArrayLike, n_rounds: ArrayLike) -> FloatArray:
    """Return the chance that something happens in any of the rounds, from its chance in one of them.

    >>> print(over_rounds(0.00065, 300).round(3), over_rounds(1e-20, 300))
    0.177 3e-18
    """
    rounds = in_range("n_rounds", n_rounds, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        none = np.where(rounds == 0, 0.0, rounds * np.log1p(-probabilities("chance", chance)))
    return np.asarray(-np.expm1(none))[()] + 0.0  # no -0.0


def sampled_clients(rule: SignRule, *, n_clients: int, n_malicious: int, flip: ArrayLike) -> Chances:
    """Return the chances of each outcome in a round whose clients are drawn at random from all.

    >>> from holdfast.theory import invariant_rule
    >>> rule = invariant_rule(20, tau=0.5, alpha=0.25)
    >>> print(sampled_clients(rule, n_clients=100, n_malicious=20, flip=0.1).p_minus.round(4))
    0.4912
    """
    attackers = hypergeometric(n_clients, n_malicious, rule.n_clients)
    return chances_of(rule, values_against(attackers, flip=flip))


def values_against(attackers: ArrayLike, *, flip: ArrayLike) -> FloatArray:
    """Return the law of how many values are on the attackers' side, from the law of how many attackers.

    >>> values_against([0.5, 0.5, 0.0], flip=0.1).round(3)  # no attacker or one, of two clients
    array([0.405, 0.54 , 0.055])
    """
    law, flips = probabilities("attackers", attackers), probabilities("flip", flip)
    against = np.zeros((*flips.shape, len(law)))
    for count in np.flatnonzero(law):
        against[..., count:] += law[count] * binomial(len(law) - 1 - int(count), flips)
    return against
