"""The laws of chance behind the theorems: how many clients, and how often noise flips a sign.

A law of counting returns the probabilities of 0, 1, 2, ... along the last axis, stable for 10,000 and more.
A tail is the sum of what lies in it, never one minus the rest, so that rare events keep their digits.
"""

import math
from functools import cache

import numpy as np
from numpy.typing import ArrayLike

from .._support.counting import check_whole
from ..errors import InputError
from .checks import FloatArray, in_range, probabilities

__all__ = [
    "binomial",
    "cantelli_flip",
    "gaussian_flip",
    "hypergeometric",
    "poisson_binomial",
    "printed_flip",
]


def binomial(n: int, chance: ArrayLike) -> FloatArray:
    """Return the chances of 0..n successes in n independent trials; one more axis than `chance` has.

    >>> binomial(2, 0.1).round(2)
    array([0.81, 0.18, 0.01])
    """
    check_whole("n", n, at_least=0)
    p = probabilities("chance", chance)[..., np.newaxis]
    successes = np.arange(n + 1)
    # 0 log 0 is 0 here: no success is certain where none is possible.
    with np.errstate(divide="ignore", invalid="ignore"):
        hits = np.where(successes == 0, 0.0, successes * np.log(p))
        misses = np.where(successes == n, 0.0, (n - successes) * np.log1p(-p))
    return _summing_to_one(np.exp(_log_choose(n) + hits + misses))


def poisson_binomial(chances: ArrayLike) -> FloatArray:
    """Return the chances of 0..n successes in n independent trials, each with a chance of its own.

    >>> poisson_binomial([0.1, 0.1]).round(2), poisson_binomial([0.0, 1.0, 0.5])
    (array([0.81, 0.18, 0.01]), array([0. , 0.5, 0.5, 0. ]))
    """
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


def hypergeometric(n_clients: int, n_malicious: int, n_drawn: int) -> FloatArray:
    """Return the chances that 0..n_drawn of the clients drawn without replacement are malicious.

    >>> hypergeometric(4, 2, 2).round(4)
    array([0.1667, 0.6667, 0.1667])
    """
    check_whole("n_clients", n_clients, at_least=1)
    check_whole("n_malicious", n_malicious, at_least=0, at_most=n_clients)
    check_whole("n_drawn", n_drawn, at_least=0, at_most=n_clients)
    n_honest = n_clients - n_malicious
    law = np.zeros(n_drawn + 1)
    possible = np.arange(max(0, n_drawn - n_honest), min(n_malicious, n_drawn) + 1)
    law[possible] = np.exp(
        _log_choose(n_malicious)[possible]
        + _log_choose(n_honest)[n_drawn - possible]
        - _log_choose(n_clients)[n_drawn]
    )
    return _summing_to_one(law)


def gaussian_flip(mean: ArrayLike, noise: ArrayLike) -> FloatArray:
    """Return the chance that Gaussian noise of this standard deviation flips the sign of the mean.

    >>> gaussian_flip([0.0, 1.0, -2.0], 1.0).round(4)
    array([0.5   , 0.1587, 0.0228])
    """
    mean, noise = in_range("mean", mean, -np.inf), in_range("noise", noise, 0, open_low=True)
    # erfc, and not 1 - Phi: the far tail keeps its digits.
    erfc = np.frompyfunc(math.erfc, 1, 1)
    return np.asarray(erfc(abs(mean) / (noise * math.sqrt(2))) / 2).astype(np.float64)[()]


def cantelli_flip(mean: ArrayLike, noise: ArrayLike) -> FloatArray:
    """Return the most that any noise of this standard deviation can flip the sign of the mean.

    Cantelli's inequality, one-sided; it is attained by a two-point law.

    >>> cantelli_flip([1.0, -2.0], 1.0)
    array([0.5, 0.2])
    """
    mean, noise = in_range("mean", mean, -np.inf), in_range("noise", noise, 0, open_low=True)
    return np.asarray((noise / np.hypot(noise, mean)) ** 2)[()]


def printed_flip(flatness: ArrayLike, noise: ArrayLike) -> FloatArray:
    """Return noise^2 / flatness^2, the paper's Chebyshev line. It bounds nothing.

    Chebyshev's inequality needs |mean| where the paper has the flatness, which is an upper bound of |mean|:
    the true chance can be larger. Use `gaussian_flip` or `cantelli_flip`.

    >>> print(printed_flip(2.0, 1.0), cantelli_flip(0.5, 1.0).round(4))  # a mean of 0.5 is 2.0-flat
    0.25 0.8
    """
    flatness = in_range("flatness", flatness, 0, open_low=True)
    return np.asarray(in_range("noise", noise, 0, open_low=True) ** 2 / flatness**2)[()]


def _log_choose(n: int) -> FloatArray:
    """Return log(n choose k) for k = 0..n."""
    logs = _log_factorials(1 << n.bit_length())[: n + 1]
    return np.asarray(logs[n] - logs - logs[::-1])


def _summing_to_one(law: FloatArray) -> FloatArray:
    """Return the law without what rounding left of log(10000!) in the twelfth digit."""
    return np.asarray(law / law.sum(axis=-1, keepdims=True))


@cache
def _log_factorials(size: int) -> FloatArray:
    """Return log(k!) for k below size, a power of two, so that few tables are ever made."""
    return np.array([math.lgamma(k + 1) for k in range(size)])
