"""The single-dimension theorem: the chances of which way an attacked coordinate moves, exact and as printed.

Theorem 10 of Wang et al., 2024, https://arxiv.org/abs/2210.01834, takes a coordinate in which every honest
client means to go one way and every attacker pushes the other. Noise flips the sign of an honest client with
some chance, independently of the others. Signs are never zero.

The sums that the paper prints are not probabilities. They leave out the binomial coefficients and the chances
of the clients that do not flip: p_minus is 2 where nobody ever flips, and the upper bounds lie far below the
truth. They are here to be compared; use `one_dimension`.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from .._support.counting import check_whole, trim_count, votes_needed
from ..errors import InputError
from .checks import FloatArray, probabilities, whole_numbers
from .laws import binomial, poisson_binomial
from .rules import OUTCOMES, SignRule, outcomes

__all__ = [
    "Chances",
    "chances_of",
    "one_dimension",
    "printed_p_minus",
    "printed_p_plus_invariant",
    "printed_p_plus_trimmed_mean",
    "unequal_clients",
]


@dataclass(frozen=True, eq=False)
class Chances:
    """The chances of the four outcomes, which sum to 1.

    >>> from holdfast.theory import invariant_rule
    >>> chances = one_dimension(invariant_rule(20, tau=0.5, alpha=0.25), n_attackers=4, flip=0.1)
    >>> print(chances.p_minus.round(4), chances.zeroed.round(4))
    0.5147 0.4853
    """

    benign: FloatArray
    contested: FloatArray
    zeroed: FloatArray
    malicious: FloatArray

    @property
    def p_minus(self) -> FloatArray:
        """The chance that it surely moves the honest way: the theorem's lower bound."""
        return self.benign

    @property
    def p_plus(self) -> FloatArray:
        """The chance that it may move the attackers' way: the theorem's upper bound."""
        return np.minimum(1.0, self.contested + self.malicious)


def one_dimension(rule: SignRule, *, n_attackers: ArrayLike, flip: ArrayLike) -> Chances:
    """Return the chances of each outcome where every honest client flips with the same chance.

    `n_attackers` and `flip` broadcast.

    >>> from holdfast.theory import trimmed_mean_rule
    >>> rule = trimmed_mean_rule(20, alpha=0.25)
    >>> one_dimension(rule, n_attackers=4, flip=[0.05, 0.1]).p_plus.round(4)
    array([0.1892, 0.4853])
    """
    counts, flips = np.broadcast_arrays(
        whole_numbers("n_attackers", n_attackers, 0, rule.n_clients), probabilities("flip", flip)
    )
    against = np.zeros((*counts.shape, rule.n_clients + 1))
    for count in np.unique(counts):
        here = counts == count
        against[here, count:] = binomial(rule.n_clients - int(count), flips[here])
    return chances_of(rule, against)


def unequal_clients(rule: SignRule, *, flips: ArrayLike) -> Chances:
    """Return the chances of each outcome where each honest client has its own chance to flip.

    The clients of the rule that `flips` leaves over are the attackers. With the largest of the chances for
    all, as in the theorem, p_minus is smaller and, where nothing is contested, p_plus is larger.

    >>> from holdfast.theory import invariant_rule
    >>> chances = unequal_clients(invariant_rule(7, tau=0.4, alpha=0.25), flips=[0, 0, 0, 0.1, 0.3])
    >>> print(chances.p_minus.round(4))
    0.63
    """
    law = poisson_binomial(flips)
    n_attackers = rule.n_clients - (len(law) - 1)
    if n_attackers < 0:
        raise InputError(
            f"flips must hold one chance per honest client, at most {rule.n_clients}; got {len(law) - 1}"
        )
    return chances_of(rule, np.concatenate([np.zeros(n_attackers), law]))


def chances_of(rule: SignRule, against: FloatArray) -> Chances:
    """Return the chances of each outcome from the law of how many values are on the attackers' side.

    >>> from holdfast.theory import median_rule
    >>> print(chances_of(median_rule(3), np.array([0.0, 0.7, 0.2, 0.1])).p_minus)
    0.7
    """
    if against.shape[-1] != rule.n_clients + 1:
        raise InputError(
            f"against must hold the chances of 0..{rule.n_clients} values; got shape {against.shape}"
        )
    where = outcomes(rule)
    # Rounding can carry a sum of thousands past 1 by its last digit.
    return Chances(*(np.minimum(1.0, against[..., where == name].sum(axis=-1)) for name in OUTCOMES))


def printed_p_minus(flip: ArrayLike, *, n_clients: int, n_attackers: int, alpha: float) -> FloatArray:
    """Return the sum of (1 - p)^i from N - alpha N to N - N', for the invariant rule and the trimmed mean.

    >>> printed_p_minus([0.0, 0.1], n_clients=20, n_attackers=4, alpha=0.25).round(4)
    array([2.    , 0.3912])
    """
    n_trimmed = trim_count(alpha, n_clients)
    check_whole("n_attackers", n_attackers, at_least=0, at_most=n_trimmed)
    return _sum_of_powers(1 - probabilities("flip", flip), n_clients - n_trimmed, n_clients - n_attackers)


def printed_p_plus_invariant(flip: ArrayLike, *, n_clients: int, n_attackers: int, tau: float) -> FloatArray:
    """Return the sum of p^i from (1 + tau) N / 2 - N' + 1 to N - N'.

    >>> print(printed_p_plus_invariant(0.1, n_clients=20, n_attackers=4, tau=0.5).round(16))
    1.1111e-12
    """
    check_whole("n_attackers", n_attackers, at_least=0, at_most=(n_clients - 1) // 2)
    votes_needed(tau, n_clients)  # refuses a tau outside [0, 1]
    n_passing = math.ceil((1 + tau) * n_clients / 2 - 1e-9 * n_clients)
    return _sum_of_powers(probabilities("flip", flip), n_passing - n_attackers + 1, n_clients - n_attackers)


def printed_p_plus_trimmed_mean(
    flip: ArrayLike, *, n_clients: int, n_attackers: int, alpha: float
) -> FloatArray:
    """Return the sum of p^i from alpha N - N' + 1 to N - N'.

    >>> print(printed_p_plus_trimmed_mean(0.1, n_clients=20, n_attackers=4, alpha=0.25).round(4))
    0.0111
    """
    n_trimmed = trim_count(alpha, n_clients)
    check_whole("n_attackers", n_attackers, at_least=0, at_most=n_trimmed)
    return _sum_of_powers(probabilities("flip", flip), n_trimmed - n_attackers + 1, n_clients - n_attackers)


def _sum_of_powers(base: FloatArray, first: int, last: int) -> FloatArray:
    """Return base^i summed for i from first to last."""
    powers = base[..., np.newaxis] ** np.arange(first, last + 1)
    return np.asarray(powers.sum(axis=-1))[()]
