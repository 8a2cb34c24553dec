"""The laws of chance behind the theorems: how many clients, how often noise flips a sign, in how many rounds.

A law of counting returns the probabilities of 0, 1, 2, ... along the last axis, stable for 10,000 and more.
A tail is the sum of what lies in it, never one minus the rest, so that rare events keep their digits.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from .._support.counting import check_whole
from ..errors import InputError
from .checks import FloatArray, in_range, probabilities, whole_numbers

__all__ = [
    "binomial",
    "cantelli_flip",
    "chance_of_more",
    "gaussian_flip",
    "hypergeometric",
    "over_rounds",
    "poisson_binomial",
    "printed_flip",
]


def binomial(n: int, chance: ArrayLike) -> FloatArray:
    """Return the chances of 0..n successes in n independent trials; one more axis than `chance` has."""
    p = probabilities("chance", chance)[..., np.newaxis]
    successes = np.arange(n + 1)
    # 0 log 0 is 0 here: no success is certain where none is possible.
    with np.errstate(divide="ignore", invalid="ignore"):
        hits = np.where(successes == 0, 0.0, successes * np.log(p))
        misses = np.where(successes == n, 0.0, (n - successes) * np.log1p(-p))
    law = np.exp(_log_choose(n) + hits + misses)
    return np.asarray(law / law.sum(axis=-1, keepdims=True))  # log(10000!) is exact to twelve digits only


def poisson_binomial(chances: ArrayLike) -> FloatArray:
    """Return the chances of 0..n successes in n independent trials, each with a chance of its own."""
    each = probabilities("chances", chances)
    if each.ndim != 1:
        raise InputError(f"chances must be one number per trial, in one row; got shape {each.shape}")
    law = np.zeros(len(each) + 1)
    law[0] = 1
    # One trial at a time: sums of products of positive numbers, so nothing cancels.
    for done, p in enumerate(each):
        law[1 : done + 2] = law[1 : done + 2] * (1 - p) + law[: done + 1] * p
        law[0] *= 1 - p
    return law


def hypergeometric(n_clients: int, n_malicious: int, n_per_round: int) -> FloatArray:
    """Return the chances that 0..n_per_round of the clients drawn without replacement are malicious."""
    check_whole("n_clients", n_clients, at_least=1)
    check_whole("n_malicious", n_malicious, at_least=0, at_most=n_clients)
    check_whole("n_per_round", n_per_round, at_least=0, at_most=n_clients)
    n_honest = n_clients - n_malicious
    law = np.zeros(n_per_round + 1)
    possible = np.arange(max(0, n_per_round - n_honest), min(n_malicious, n_per_round) + 1)
    law[possible] = np.exp(
        _log_choose(n_malicious)[possible]
        + _log_choose(n_honest)[n_per_round - possible]
        - _log_choose(n_clients)[n_per_round]
    )
    return np.asarray(law / law.sum())


def chance_of_more(
    n_tolerated: ArrayLike, *, n_clients: int, n_malicious: int, n_per_round: int
) -> FloatArray:
    """Return the chance that a round of clients drawn at random has more attackers than are tolerated.

    >>> chance_of_more([5, 9], n_clients=100, n_malicious=20, n_per_round=20).round(5)
    array([0.17273, 0.00065])
    """
    law = hypergeometric(n_clients, n_malicious, n_per_round)
    tolerated = whole_numbers("n_tolerated", n_tolerated, 0, n_per_round)
    at_least = np.append(law[::-1].cumsum()[::-1], 0.0)  # added from the rare end
    return np.asarray(np.minimum(1.0, at_least[tolerated + 1]))[()]


def over_rounds(chance: ArrayLike, n_rounds: ArrayLike) -> FloatArray:
    """Return the chance that something happens in any of the rounds, from its chance in one of them.

    >>> print(over_rounds(0.00065, 300).round(3), over_rounds(1e-20, 300))
    0.177 3e-18
    """
    rounds = in_range("n_rounds", n_rounds, 0)
    with np.errstate(divide="ignore", invalid="ignore"):
        none = np.where(rounds == 0, 0.0, rounds * np.log1p(-probabilities("chance", chance)))
    return -np.expm1(none) + 0.0  # no -0.0


def gaussian_flip(mean: ArrayLike, noise: ArrayLike) -> FloatArray:
    """Return the chance that Gaussian noise of this standard deviation flips the sign of the mean.

    >>> gaussian_flip([0.0, 1.0, -2.0], 1.0).round(4)
    array([0.5   , 0.1587, 0.0228])
    """
    mean, noise = in_range("mean", mean, -np.inf), in_range("noise", noise, 0, open_low=True)
    # erfc, and not 1 - Phi: the far tail keeps its digits.
    erfc = np.vectorize(math.erfc, otypes=[np.float64])
    return np.asarray(erfc(abs(mean) / (noise * math.sqrt(2))) / 2)[()]


def cantelli_flip(mean: ArrayLike, noise: ArrayLike) -> FloatArray:
    """Return the most that any noise of this standard deviation can flip the sign of the mean.

    Cantelli's inequality, one-sided; it is attained by a two-point law.

    >>> cantelli_flip([1.0, -2.0], 1.0)
    array([0.5, 0.2])
    """
    mean, noise = in_range("mean", mean, -np.inf), in_range("noise", noise, 0, open_low=True)
    return (noise / np.hypot(noise, mean)) ** 2


def printed_flip(flatness: ArrayLike, noise: ArrayLike) -> FloatArray:
    """Return noise^2 / flatness^2, the paper's Chebyshev line. It bounds nothing.

    Chebyshev's inequality needs |mean| where the paper has the flatness, which is an upper bound of |mean|:
    the true chance can be larger. Use `gaussian_flip` or `cantelli_flip`.

    >>> print(printed_flip(2.0, 1.0), cantelli_flip(0.5, 1.0).round(4))  # a mean of 0.5 is 2.0-flat
    0.25 0.8
    """
    flatness = in_range("flatness", flatness, 0, open_low=True)
    return in_range("noise", noise, 0, open_low=True) ** 2 / flatness**2


def _log_choose(n: int) -> FloatArray:
    """Return log(n choose k) for k = 0..n."""
    logs = _log_factorials(1 << n.bit_length())[: n + 1]
    return np.asarray(logs[n] - logs - logs[::-1])


@cache
def _log_factorials(size: int) -> FloatArray:
    """Return log(k!) for k below size, a power of two, so that few tables are ever computed."""
    return np.array([math.lgamma(k + 1) for k in range(size)])
