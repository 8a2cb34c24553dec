"""The convergence theorem, corrected and as printed, and what it says about the backdoor's loss.

Theorem 11 of Wang et al., 2024. In one coordinate the honest minima are at most `distance` away, every step
that is not zero has a size in [shortest, longest], and each round moves the honest way with chance p_minus
and the attackers' way with chance p_plus, independently. For all coordinates together it is this chance to
the power `dim`, if they are independent: nothing is left of it for the millions of a network.
"""

import math
from collections.abc import Iterator

import numpy as np
from numpy.typing import ArrayLike

from .._support.counting import check_whole
from ..errors import InputError
from .checks import FloatArray, in_range, probabilities
from .laws import binomial

__all__ = ["attack_loss_floor", "convergence", "printed_convergence"]


def convergence(
    p_minus: ArrayLike,
    p_plus: ArrayLike,
    *,
    n_rounds: int,
    distance: float,
    shortest: float,
    longest: float,
    dim: int = 1,
) -> FloatArray:
    """Return the chance that the steps the honest way outweigh those the attackers' way by the distance.

    After i honest steps, at most (i * shortest - distance) / longest steps may go wrong.

    >>> print(convergence(0.7, 0.05, n_rounds=20, distance=1, shortest=0.1, longest=0.2).round(4))
    0.7865
    """
    p_minus, wrong = _checked(p_minus, p_plus, n_rounds, distance, shortest, longest, dim)
    total = np.zeros(np.shape(p_minus))
    for i, chance in _honest_steps(p_minus, n_rounds, distance / shortest):
        n_bearable = math.floor((i * shortest - distance) / longest + 1e-9)
        total += chance * binomial(n_rounds - i, wrong)[..., : n_bearable + 1].sum(axis=-1)
    return np.asarray(np.minimum(1.0, total) ** dim)[()]


def printed_convergence(
    p_minus: ArrayLike,
    p_plus: ArrayLike,
    *,
    n_rounds: int,
    distance: float,
    shortest: float,
    longest: float,
    dim: int = 1,
) -> FloatArray:
    """Return the theorem's value as printed, too large or too small: its inner sum runs the wrong way.

    It asks that at least (i * shortest - distance) / longest of the other steps do *not* go wrong, which is
    how many *may* go wrong.

    >>> print(printed_convergence(0.7, 0.05, n_rounds=20, distance=1, shortest=0.1, longest=0.2).round(4))
    0.8521
    """
    p_minus, wrong = _checked(p_minus, p_plus, n_rounds, distance, shortest, longest, dim)
    total = np.zeros(np.shape(p_minus))
    for i, chance in _honest_steps(p_minus, n_rounds, distance / shortest):
        n_spared = math.ceil((i * shortest - distance) / longest - 1e-9)
        total += chance * binomial(n_rounds - i, 1 - wrong)[..., n_spared:].sum(axis=-1)
    return np.asarray(np.minimum(1.0, total) ** dim)[()]


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
    reach = in_range("diameter", diameter, 0) + np.sqrt(in_range("dim", dim, 1)) * in_range(
        "longest", longest, 0
    )
    floor = in_range("loss_at_minimum", loss_at_minimum, 0) - in_range("flatness", flatness, 0) * reach
    return np.maximum(0.0, floor)


def _checked(
    p_minus: ArrayLike,
    p_plus: ArrayLike,
    n_rounds: int,
    distance: float,
    shortest: float,
    longest: float,
    dim: int,
) -> tuple[FloatArray, FloatArray]:
    """Return p_minus, and the chance that a step goes wrong given that it is not an honest one."""
    check_whole("n_rounds", n_rounds, at_least=1)
    check_whole("dim", dim, at_least=1)
    in_range("distance", distance, 0)
    in_range("shortest", shortest, 0, longest, open_low=True)
    p_minus, p_plus = np.broadcast_arrays(probabilities("p_minus", p_minus), probabilities("p_plus", p_plus))
    total = p_minus + p_plus
    if (total > 1 + 1e-9).any():
        raise InputError(f"p_minus + p_plus must be at most 1; got {total.max():g}")
    other = 1 - p_minus
    wrong = np.divide(p_plus, other, out=np.zeros(other.shape), where=other > 0)
    return p_minus, np.minimum(wrong, 1.0)


def _honest_steps(p_minus: FloatArray, n_rounds: int, n_needed: float) -> Iterator[tuple[int, FloatArray]]:
    """Yield each number of honest steps that can be enough, and its chance."""
    law = binomial(n_rounds, p_minus)
    for i in range(math.ceil(n_needed - 1e-9), n_rounds + 1):
        yield i, law[..., i]
