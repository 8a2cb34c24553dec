"""The single-dimension theorem: the chances of which way an attacked coordinate moves, exact and as printed.

Theorem 10 of Wang et al., 2024, https://arxiv.org/abs/2210.01834, takes a coordinate in which every honest
client means to go one way and every attacker pushes the other, as hard as it likes. Noise flips the sign of
an honest client with some chance, independently of the others. Signs are never zero. What a rule then does
depends on how many values it trims at each end and how many votes its mask asks for. The outcome is one of

    benign     no value of the attackers' side is left after trimming: it moves the honest way
    contested  values of both sides are left: magnitudes decide, and the attackers choose some of them
    zeroed     the mask stops it
    malicious  no value of the honest side is left: it moves the attackers' way

The sums that the paper prints are not probabilities. They leave out the binomial coefficients and the chances
of the clients that do not flip: p_minus is 2 where nobody ever flips, and the upper bounds lie far below the
truth. They are here to be compared; use `one_dimension`.
"""

from dataclasses import dataclass, fields

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.counting import check_whole, trim_count, votes_needed
from ..errors import InputError
from .checks import FloatArray, probabilities, whole_numbers
from .laws import binomial, poisson_binomial

__all__ = [
    "Chances",
    "SignRule",
    "invariant_rule",
    "median_rule",
    "one_dimension",
    "outcome_by_flips",
    "printed_p_minus",
    "printed_p_plus_invariant",
    "printed_p_plus_trimmed_mean",
    "trimmed_mean_rule",
    "unequal_clients",
]


@dataclass(frozen=True)
class SignRule:
    """A rule as the theorem sees it, in a round of `n_clients`; without settings, the plain mean.

    >>> SignRule(20, n_votes=12)  # the AND-mask
    SignRule(n_clients=20, n_trimmed=0, n_votes=12)
    """

    n_clients: int
    n_trimmed: int = 0  # at each end
    n_votes: int = 0  # the smallest |sum of signs| that passes the mask; 0: no mask

    def __post_init__(self) -> None:
        """Raise if there is no such rule."""
        check_whole("n_clients", self.n_clients, at_least=1)
        check_whole("n_trimmed", self.n_trimmed, at_least=0, at_most=(self.n_clients - 1) // 2)
        check_whole("n_votes", self.n_votes, at_least=0)


def invariant_rule(n_clients: int, *, tau: float, alpha: float, strict: bool = False) -> SignRule:
    """Return the invariant aggregator; `strict` reads the mask as > instead of >=.

    >>> invariant_rule(20, tau=0.6, alpha=0.25)
    SignRule(n_clients=20, n_trimmed=5, n_votes=12)
    """
    return SignRule(n_clients, trim_count(alpha, n_clients), votes_needed(tau, n_clients, strict=strict))


def trimmed_mean_rule(n_clients: int, *, alpha: float) -> SignRule:
    """Return the trimmed mean: no mask.

    >>> trimmed_mean_rule(15, alpha=0.25)
    SignRule(n_clients=15, n_trimmed=4, n_votes=0)
    """
    return SignRule(n_clients, trim_count(alpha, n_clients))


def median_rule(n_clients: int) -> SignRule:
    """Return the median: all but the middle value, or the two middle ones, trimmed.

    >>> median_rule(20).n_trimmed
    9
    """
    return SignRule(n_clients, (n_clients - 1) // 2)


def outcome_by_flips(rule: SignRule, *, n_attackers: int) -> NDArray[np.str_]:
    """Return the outcome for 0, 1, 2, ... flipped honest clients.

    >>> outcome_by_flips(invariant_rule(7, tau=0.2, alpha=0.25), n_attackers=2)
    array(['benign', 'zeroed', 'zeroed', 'malicious', 'malicious', 'malicious'], dtype='<U9')
    """
    check_whole("n_attackers", n_attackers, at_least=0, at_most=rule.n_clients)
    against = np.arange(n_attackers, rule.n_clients + 1)
    honest = rule.n_clients - against
    return np.select(
        [abs(honest - against) < rule.n_votes, against <= rule.n_trimmed, honest <= rule.n_trimmed],
        ["zeroed", "benign", "malicious"],
        default="contested",
    )


@dataclass(frozen=True, eq=False)
class Chances:
    """The chances of the four outcomes, which sum to 1."""

    benign: FloatArray
    contested: FloatArray
    zeroed: FloatArray
    malicious: FloatArray

    @classmethod
    def of(cls, rule: SignRule, against: FloatArray) -> "Chances":
        """Return the chances from the law of how many values are on the attackers' side."""
        outcomes = outcome_by_flips(rule, n_attackers=0)
        # Rounding can carry a sum of thousands past 1 by its last digit.
        return cls(*(np.minimum(1.0, against[..., outcomes == one.name].sum(axis=-1)) for one in fields(cls)))

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

    >>> one_dimension(trimmed_mean_rule(20, alpha=0.25), n_attackers=4, flip=[0.05, 0.1]).p_plus.round(4)
    array([0.1892, 0.4853])
    """
    counts, flips = np.broadcast_arrays(
        whole_numbers("n_attackers", n_attackers, 0, rule.n_clients), probabilities("flip", flip)
    )
    against = np.zeros((*counts.shape, rule.n_clients + 1))
    for count in np.unique(counts):
        here = counts == count
        against[here, count:] = binomial(rule.n_clients - int(count), flips[here])
    return Chances.of(rule, against)


def unequal_clients(rule: SignRule, *, flips: ArrayLike) -> Chances:
    """Return the chances of each outcome where each honest client has its own chance to flip.

    The clients of the rule that `flips` leaves over are the attackers. With the largest of the chances for
    all, as in the theorem, p_minus is smaller and, where nothing is contested, p_plus is larger.

    >>> chances = unequal_clients(invariant_rule(7, tau=0.4, alpha=0.25), flips=[0, 0, 0, 0.1, 0.3])
    >>> print(chances.p_minus.round(4))
    0.63
    """
    law = poisson_binomial(flips)
    n_attackers = rule.n_clients + 1 - len(law)
    if n_attackers < 0:
        raise InputError(
            f"flips must hold one chance per honest client, at most {rule.n_clients}; got {len(law) - 1}"
        )
    return Chances.of(rule, np.append(np.zeros(n_attackers), law))


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
    n_passing = (n_clients + votes_needed(tau, n_clients) + 1) // 2  # (1 + tau) N / 2, rounded up
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
