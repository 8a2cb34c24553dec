"""The convergence theorem, corrected and as printed, and what it says about the backdoor's loss.

Theorem 11 of Wang et al., 2024. In one coordinate the honest minima are at most `distance` away, every step
that is not zero has a size in [shortest, longest], and each round moves the honest way with chance p_minus
and the attackers' way with chance p_plus, independently. For all coordinates together it is this chance to
the power of their number, if they are independent: nothing is left of it for the millions of a network.
"""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from .._support.counting import check_whole
from ..errors import InputError
from .checks import FloatArray, in_range, probabilities
from .laws import binomial

__all__ = ["attack_loss_floor", "convergence", "printed_convergence"]


def convergence(
    p_minus: ArrayLike, p_plus: ArrayLike, *, n_rounds: int, distance: float, shortest: float, longest: float
) -> FloatArray:
    """Return the chance that the steps the honest way outweigh those the attackers' way by the distance.

    After i honest steps, at most (i * shortest - distance) / longest steps may go wrong.

    >>> print(convergence(0.7, 0.05, n_rounds=20, distance=1, shortest=0.1, longest=0.2).round(4))
    0.7865
    """
    return _sum_over_honest_steps(
        lambda _, bound: math.floor(bound + 1e-9), p_minus, p_plus, n_rounds, distance, shortest, longest
    )


def printed_convergence(
    p_minus: ArrayLike, p_plus: ArrayLike, *, n_rounds: int, distance: float, shortest: float, longest: float
) -> FloatArray:
    """Return the theorem's value as printed, too large or too small: its inner sum runs the wrong way.

    It asks that at least (i * shortest - distance) / longest of the other steps do *not* go wrong, which is
    how many *may* go wrong.

    >>> print(printed_convergence(0.7, 0.05, n_rounds=20, distance=1, shortest=0.1, longest=0.2).round(4))
    0.8521
    """
    return _sum_over_honest_steps(
        lambda n, bound: n - math.ceil(bound - 1e-9), p_minus, p_plus, n_rounds, distance, shortest, longest
    )


def attack_loss_floor(
    loss_at_minimum: ArrayLike,
    *,
    flatness: ArrayLike,
    diameter: ArrayLike,
    dim: ArrayLike,
    longest: ArrayLike,
) -> FloatArray:
    """Return the least loss on backdoored examples once the model has converged as the theorem says.

    `loss_at_minimum` is the loss at a benign minimum, `flatness` bounds the gradient of the backdoor's loss,
    `diameter` is that of the hull of the benign minima, `longest` the largest step of a coordinate.

    >>> print(attack_loss_floor(2.0, flatness=0.5, diameter=1.0, dim=100, longest=0.1))
    1.0
    """
    steps = np.sqrt(in_range("dim", dim, 1)) * in_range("longest", longest, 0)
    lost = in_range("flatness", flatness, 0) * (in_range("diameter", diameter, 0) + steps)
    return np.maximum(0.0, in_range("loss_at_minimum", loss_at_minimum, 0) - lost)


def _sum_over_honest_steps(
    n_bearable: Callable[[int, float], int],
    p_minus: ArrayLike,
    p_plus: ArrayLike,
    n_rounds: int,
    distance: float,
    shortest: float,
    longest: float,
) -> FloatArray:
    """Return the chance that of the steps, i are honest and at most `n_bearable` others wrong, for some i.

    `n_bearable` gets the number of other steps, and (i * shortest - distance) / longest.
    """
    check_whole("n_rounds", n_rounds, at_least=1)
    in_range("distance", distance, 0)
    in_range("shortest", shortest, 0, longest, open_low=True)
    honest, misled = np.broadcast_arrays(probabilities("p_minus", p_minus), probabilities("p_plus", p_plus))
    if (honest + misled > 1 + 1e-9).any():
        raise InputError(f"p_minus + p_plus must be at most 1; got {(honest + misled).max():g}")
    wrong = np.divide(misled, 1 - honest, out=np.zeros(honest.shape), where=honest < 1).clip(0, 1)
    law = binomial(n_rounds, honest)
    total = np.zeros(honest.shape)
    for i in range(math.ceil(distance / shortest - 1e-9), n_rounds + 1):
        most = max(-1, n_bearable(n_rounds - i, (i * shortest - distance) / longest))
        total += law[..., i] * binomial(n_rounds - i, wrong)[..., : most + 1].sum(axis=-1)
    return np.minimum(1.0, total)
