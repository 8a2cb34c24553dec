"""The single-dimension probabilities as the paper prints them. They are not probabilities.

The sums leave out the binomial coefficients and the chances of those who do not flip: p_minus is 2 where
nobody ever flips, and the upper bounds lie far below the truth. Kept to show both; for use there is
`one_dimension`. Wang et al., 2024, https://arxiv.org/abs/2210.01834, theorem "single-dimension".
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from .._support.counting import check_whole, trim_count, votes_needed
from .checks import FloatArray, probabilities

__all__ = ["printed_p_minus", "printed_p_plus_invariant", "printed_p_plus_trimmed_mean"]


def printed_p_minus(flip: ArrayLike, *, n_clients: int, n_attackers: int, alpha: float) -> FloatArray:
    """Return the sum of (1 - p)^i from N - alpha N to N - N', for the invariant rule and the trimmed mean.

    >>> printed_p_minus([0.0, 0.1], n_clients=20, n_attackers=4, alpha=0.25).round(4)
    array([2.    , 0.3912])
    """
    n_trimmed = trim_count(alpha, n_clients)
    check_whole("n_attackers", n_attackers, at_least=0, at_most=n_trimmed)
    return _powers(1 - probabilities("flip", flip), n_clients - n_trimmed, n_clients - n_attackers)


def printed_p_plus_invariant(flip: ArrayLike, *, n_clients: int, n_attackers: int, tau: float) -> FloatArray:
    """Return the sum of p^i from (1 + tau) N / 2 - N' + 1 to N - N'.

    >>> print(printed_p_plus_invariant(0.1, n_clients=20, n_attackers=4, tau=0.5).round(16))
    1.1111e-12
    """
    check_whole("n_attackers", n_attackers, at_least=0, at_most=(n_clients - 1) // 2)
    votes_needed(tau, n_clients)  # refuses a tau outside [0, 1]
    n_passing = math.ceil((1 + tau) * n_clients / 2 - 1e-9 * n_clients)
    return _powers(probabilities("flip", flip), n_passing - n_attackers + 1, n_clients - n_attackers)


def printed_p_plus_trimmed_mean(
    flip: ArrayLike, *, n_clients: int, n_attackers: int, alpha: float
) -> FloatArray:
    """Return the sum of p^i from alpha N - N' + 1 to N - N'.

    >>> print(printed_p_plus_trimmed_mean(0.1, n_clients=20, n_attackers=4, alpha=0.25).round(4))
    0.0111
    """
    n_trimmed = trim_count(alpha, n_clients)
    check_whole("n_attackers", n_attackers, at_least=0, at_most=n_trimmed)
    return _powers(probabilities("flip", flip), n_trimmed - n_attackers + 1, n_clients - n_attackers)


def _powers(ground: FloatArray, first: int, last: int) -> FloatArray:
    """Return the sum of ground^i for i from first to last."""
    powers = ground[..., np.newaxis] ** np.arange(first, last + 1)
    return np.asarray(powers.sum(axis=-1))[()]
