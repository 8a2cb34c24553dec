"""How often noise flips the sign of an honest client's gradient: the p of the single-dimension theorem."""

import math

import numpy as np
from numpy.typing import ArrayLike

from .checks import FloatArray, in_range

__all__ = ["cantelli_flip", "gaussian_flip", "printed_flip"]


def gaussian_flip(mean: ArrayLike, noise: ArrayLike) -> FloatArray:
    """Return the chance that Gaussian noise of this standard deviation flips the sign of the mean.

    >>> gaussian_flip([0.0, 1.0, -2.0], 1.0).round(4)
    array([0.5   , 0.1587, 0.0228])
    """
    mean, noise = _checked(mean, noise)
    # erfc, and not 1 - Phi: the far tail keeps its digits.
    erfc = np.frompyfunc(math.erfc, 1, 1)
    return np.asarray(erfc(abs(mean) / (noise * math.sqrt(2))) / 2).astype(np.float64)[()]


def cantelli_flip(mean: ArrayLike, noise: ArrayLike) -> FloatArray:
    """Return the most that any noise of this standard deviation can flip the sign of the mean.

    Cantelli's inequality, one-sided; it is attained by a two-point law.

    >>> cantelli_flip([1.0, -2.0], 1.0)
    array([0.5, 0.2])
    """
    mean, noise = _checked(mean, noise)
    return np.asarray(noise**2 / (noise**2 + mean**2))[()]


def printed_flip(flatness: ArrayLike, noise: ArrayLike) -> FloatArray:
    """Return noise^2 / flatness^2, the paper's Chebyshev line. It bounds nothing.

    Chebyshev's inequality needs |mean| where the paper has the flatness, which is an upper bound of |mean|:
    the true chance can be larger. Use `gaussian_flip` or `cantelli_flip`.

    >>> print(printed_flip(2.0, 1.0), cantelli_flip(0.5, 1.0))  # a mean of 0.5 is 2.0-flat
    0.25 0.8
    """
    flatness = in_range("flatness", flatness, 0, open_low=True)
    return np.asarray(in_range("noise", noise, 0, open_low=True) ** 2 / flatness**2)[()]


def _checked(mean: ArrayLike, noise: ArrayLike) -> tuple[FloatArray, FloatArray]:
    return in_range("mean", mean, -np.inf), in_range("noise", noise, 0, open_low=True)
