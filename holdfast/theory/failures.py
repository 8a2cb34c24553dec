"""How other defences fail where the loss is flat: FLTrust, trigger inversion, overwriting, mimicry."""

import math

import numpy as np
from numpy.typing import ArrayLike

from .checks import FloatArray, in_range

__all__ = [
    "FLTRUST_THRESHOLD",
    "fltrust_advantage",
    "fltrust_best_advantage",
    "fltrust_best_angle",
    "inversion_flatness",
    "mimicry_cost",
    "overwrite_threshold",
]

#: Above this angle between the benign gradient and the flat axis, an attacker beats FLTrust: arccos(1/3), or
#: 0.3918 pi. The paper reads 0.4 pi off a plot.
FLTRUST_THRESHOLD = math.acos(1 / 3)


def fltrust_advantage(theta: ArrayLike, theta_attacker: ArrayLike) -> FloatArray:
    """Return what an attacker wins along the flat axis under FLTrust; above 0 it sets the direction.

    Two clients of equal length in a plane, the benign one equal to the server's reference, at `theta` to the
    flat axis; the attacker at `theta_attacker` on the axis's other side. Wang et al., 2024, Appendix B,
    Equation 1.

    >>> print(fltrust_advantage(0.45 * np.pi, 0.275 * np.pi).round(4))
    0.2653
    """
    benign, attacker = _angle("theta", theta), _angle("theta_attacker", theta_attacker)
    return np.cos(attacker) * np.cos(np.pi - benign - attacker) - np.cos(benign)


def fltrust_best_advantage(theta: ArrayLike) -> FloatArray:
    """Return the most an attacker can win, over all its angles: 1/2 - 3/2 cos(theta).

    The paper leaves this to a plot. cos(a) cos(b) = (cos(a + b) + cos(a - b)) / 2, and only the second
    cosine depends on the attacker's angle.

    >>> fltrust_best_advantage([0.0, np.pi / 2]).round(4)
    array([-1. ,  0.5])
    """
    return 0.5 - 1.5 * np.cos(_angle("theta", theta))


def fltrust_best_angle(theta: ArrayLike) -> FloatArray:
    """Return the attacker's best angle, (pi - theta) / 2.

    >>> print((fltrust_best_angle(0.45 * np.pi) / np.pi).round(4))
    0.275
    """
    return (np.pi - _angle("theta", theta)) / 2


def inversion_flatness(flatness: ArrayLike, *, lipschitz: ArrayLike, distance: ArrayLike) -> FloatArray:
    """Return the least size of the gradient on the true triggers, from its size on the inverted ones.

    The mean gradients are at most lambda W1 apart: `lipschitz` is that of the gradient in the example,
    `distance` the Wasserstein-1 distance of the two distributions, which counts the labels where they differ.

    >>> inversion_flatness(2.0, lipschitz=2.0, distance=[0.75, 1.5])
    array([0.5, 0. ])
    """
    gap = in_range("lipschitz", lipschitz, 0) * in_range("distance", distance, 0)
    return np.maximum(0.0, in_range("flatness", flatness, 0) - gap)


def overwrite_threshold(
    flatness: ArrayLike, *, own_examples: ArrayLike, other_examples: ArrayLike
) -> FloatArray:
    """Return how large one attacker's gradient must be in a flat coordinate to turn FedAvg there.

    >>> print(overwrite_threshold(0.01, own_examples=50, other_examples=950))
    0.19
    """
    own = in_range("own_examples", own_examples, 0, open_low=True)
    return in_range("other_examples", other_examples, 0) / own * in_range("flatness", flatness, 0)


def mimicry_cost(*, benign_gradient: ArrayLike, flatness: ArrayLike) -> FloatArray:
    """Return the most backdoor loss that copying the benign clients can cost an attacker in a step.

    `benign_gradient` bounds the copied gradient, `flatness` the attacker's own in the copied coordinates.

    >>> print(mimicry_cost(benign_gradient=0.1, flatness=0.02).round(4))
    0.002
    """
    return in_range("benign_gradient", benign_gradient, 0) * in_range("flatness", flatness, 0)


def _angle(name: str, values: ArrayLike) -> FloatArray:
    return in_range(name, values, 0, math.pi / 2)
