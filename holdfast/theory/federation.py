"""A federation as its operator sees it, and what one pair of settings of `invariant` means for it."""

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from .._support.counting import check_whole, largest_minority
from ..errors import InputError
from .checks import FloatArray, probabilities
from .laws import binomial, chance_of_more, hypergeometric, over_rounds
from .one_dimension import Chances, invariant_rule

__all__ = ["Assessment", "Federation"]


@dataclass(frozen=True)
class Federation:
    """How many clients there are, how many of them are malicious, and how many are drawn at random per round.

    `flip` is the chance that noise turns the sign of an honest client in a coordinate, the same for all and
    independent: the p of the paper's Theorem 10.

    >>> Federation(n_clients=100, n_malicious=20, n_per_round=20).typical_attackers
    4
    """

    n_clients: int
    n_malicious: int
    n_per_round: int
    n_rounds: int = 300
    flip: float = 0.1

    def __post_init__(self) -> None:
        """Raise where no setting can help."""
        check_whole("n_clients", self.n_clients, at_least=3)
        check_whole("n_per_round", self.n_per_round, at_least=3, at_most=self.n_clients)
        check_whole("n_malicious", self.n_malicious, at_least=1, at_most=self.n_clients)
        check_whole("n_rounds", self.n_rounds, at_least=1)
        probabilities("flip", self.flip)
        if 2 * self.n_malicious >= self.n_clients:
            raise InputError(
                f"no setting helps: {self.n_malicious} of {self.n_clients} clients are malicious, and a rule"
                " that counts clients needs more honest than malicious ones: here, at most"
                f" {(self.n_clients - 1) // 2} malicious"
            )
        if self.flip >= 0.5:
            raise InputError(
                "no setting helps: flip must be below 0.5, or an honest sign says nothing;"
                f" got {self.flip:g}. Larger batches make it smaller"
            )

    @property
    def typical_attackers(self) -> int:
        """How many attackers there are per round on average, rounded up."""
        return -(-self.n_per_round * self.n_malicious // self.n_clients)

    @property
    def most_trimmed(self) -> int:
        """The most values that can be trimmed at each end."""
        return (self.n_per_round - 1) // 2

    @cached_property
    def against(self) -> FloatArray:
        """The law of how many of a round's values are on the attackers' side in a coordinate they attack."""
        against = np.zeros(self.n_per_round + 1)
        attackers = hypergeometric(self.n_clients, self.n_malicious, self.n_per_round)
        for count in np.flatnonzero(attackers).tolist():
            against[count:] += attackers[count] * binomial(self.n_per_round - count, self.flip)
        return against

    def chance_of_more(self, n_tolerated: ArrayLike) -> FloatArray:
        """Return the chance that a round draws more attackers than are tolerated."""
        return chance_of_more(
            n_tolerated, n_clients=self.n_clients, n_malicious=self.n_malicious, n_per_round=self.n_per_round
        )

    def chance_ever(self, chance: ArrayLike) -> FloatArray:
        """Return the chance that something happens in any of the rounds, from its chance in one."""
        return over_rounds(chance, self.n_rounds)


@dataclass(frozen=True)
class Assessment:
    """What a pair of settings means for a federation: chances per round or, as `..._ever`, in any round.

    >>> print(f"{Assessment.of(Federation(100, 20, 20), tau=0.6, alpha=0.25).more_than_trimmed:.1%}")
    17.3%
    """

    tau: float
    alpha: float
    n_trimmed: int  # at each end
    n_averaged: int  # values left in each coordinate: the fewer, the noisier the update
    n_against: int  # the most clients that can be against a coordinate that passes the mask
    direction_is_sure: bool  # whether all of those are trimmed, so that the majority sets the direction
    more_than_trimmed: float  # more attackers are drawn than values trimmed
    more_than_trimmed_ever: float
    learns: float  # an attacked coordinate surely moves the honest way
    learns_unattacked: float  # the same where the attackers do not push against the honest clients
    misled: float  # an attacked coordinate may move the attackers' way
    misled_ever: float

    @classmethod
    def of(cls, federation: Federation, *, tau: float, alpha: float) -> "Assessment":
        """Return what these settings of `invariant` mean for the federation."""
        n = federation.n_per_round
        rule = invariant_rule(n, tau=tau, alpha=alpha)
        attacked = Chances.of(rule, federation.against)
        unattacked = Chances.of(rule, binomial(n, federation.flip))
        more = float(federation.chance_of_more(rule.n_trimmed))
        n_against = largest_minority(rule.n_votes, n)
        return cls(
            tau=tau,
            alpha=alpha,
            n_trimmed=rule.n_trimmed,
            n_averaged=n - 2 * rule.n_trimmed,
            n_against=n_against,
            direction_is_sure=n_against <= rule.n_trimmed,
            more_than_trimmed=more,
            more_than_trimmed_ever=float(federation.chance_ever(more)),
            learns=float(attacked.p_minus),
            learns_unattacked=float(unattacked.p_minus),
            misled=float(attacked.p_plus),
            misled_ever=float(federation.chance_ever(attacked.p_plus)),
        )

    @classmethod
    def from_counts(cls, federation: Federation, *, n_trimmed: int, n_against: int) -> "Assessment":
        """Return the same for counts, with the roundest settings that give them."""
        n = federation.n_per_round
        return cls.of(
            federation,
            tau=_roundest((n - 2 * n_against - 2) / n, (n - 2 * n_against) / n),
            alpha=_roundest((n_trimmed - 1) / n, n_trimmed / n),
        )


def _roundest(above: float, up_to: float) -> float:
    """Return the largest of the numbers with the fewest decimals in (above, up_to]."""
    digits = 1
    while (rounded := math.floor(up_to * 10.0**digits + 1e-6) / 10.0**digits) <= above + 1e-9:
        digits += 1
    return max(0.0, rounded)
