"""Rules as the single-dimension theorem sees them: two whole numbers, and what follows from them.

All honest clients mean to go one way in a coordinate, all attackers push the other, as hard as they like,
and noise puts some honest clients on the attackers' side. What a rule then does depends on how many values
it trims at each end and how many votes its mask asks for. The outcome is one of

    benign     no value of the attackers' side is left after trimming: it moves the honest way
    contested  values of both sides are left: magnitudes decide, and the attackers choose some of them
    zeroed     the mask stops it
    malicious  no value of the honest side is left: it moves the attackers' way
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._support.counting import check_whole, trim_count, votes_needed

__all__ = [
    "OUTCOMES",
    "SignRule",
    "invariant_rule",
    "mean_rule",
    "median_rule",
    "outcome_by_flips",
    "outcomes",
    "trimmed_mean_rule",
]

OUTCOMES = ("benign", "contested", "zeroed", "malicious")


@dataclass(frozen=True)
class SignRule:
    """A rule as the theorem sees it, in a round of `n_clients`.

    >>> invariant_rule(20, tau=0.6, alpha=0.25)
    SignRule(n_clients=20, n_trimmed=5, n_votes=12)
    """

    n_clients: int
    n_trimmed: int = 0  # at each end
    n_votes: int = 0  # the smallest |sum of signs| that passes the mask; 0: no mask

    def __post_init__(self) -> None:
        """Raise if the numbers make no rule."""
        check_whole("n_clients", self.n_clients, at_least=1)
        check_whole("n_trimmed", self.n_trimmed, at_least=0, at_most=(self.n_clients - 1) // 2)
        check_whole("n_votes", self.n_votes, at_least=0)


def invariant_rule(n_clients: int, *, tau: float, alpha: float, strict: bool = False) -> SignRule:
    """Return the invariant aggregator; `strict` reads the mask as > instead of >=.

    >>> invariant_rule(20, tau=0.6, alpha=0.25, strict=True).n_votes
    13
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


def mean_rule(n_clients: int) -> SignRule:
    """Return the plain mean: nothing trimmed, nothing masked.

    >>> mean_rule(20)
    SignRule(n_clients=20, n_trimmed=0, n_votes=0)
    """
    return SignRule(n_clients)


def outcomes(rule: SignRule) -> NDArray[np.str_]:
    """Return the outcome for 0, 1, ..., n_clients values on the attackers' side.

    >>> outcomes(invariant_rule(4, tau=0.5, alpha=0.25))
    array(['benign', 'benign', 'zeroed', 'malicious', 'malicious'], dtype='<U9')
    """
    against = np.arange(rule.n_clients + 1)
    honest = against[::-1]
    return np.select(
        [abs(honest - against) < rule.n_votes, against <= rule.n_trimmed, honest <= rule.n_trimmed],
        ["zeroed", "benign", "malicious"],
        default="contested",
    )


def outcome_by_flips(rule: SignRule, *, n_attackers: int) -> NDArray[np.str_]:
    """Return the outcome for 0, 1, 2, ... flipped honest clients.

    >>> outcome_by_flips(invariant_rule(7, tau=0.2, alpha=0.25), n_attackers=2)
    array(['benign', 'zeroed', 'zeroed', 'malicious', 'malicious', 'malicious'], dtype='<U9')
    """
    check_whole("n_attackers", n_attackers, at_least=0, at_most=rule.n_clients)
    return outcomes(rule)[n_attackers:]
