"""Numbers in: what a formula takes, as float arrays, or an error that says what was needed."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError

__all__ = ["FloatArray", "in_range", "probabilities", "whole_numbers"]

FloatArray = NDArray[np.float64]


def in_range(
    name: str, values: ArrayLike, low: float, high: float = np.inf, *, open_low: bool = False
) -> FloatArray:
    """Return the numbers as floats, all of them finite and in the range.

    >>> in_range("noise", [1, 2], 0, open_low=True)
    array([1., 2.])
    """
    bounds = f"{'above' if open_low else 'of at least'} {low:g}" + (
        "" if high == np.inf else f", at most {high:g}"
    )
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be finite numbers {bounds}; got {values!r}") from None
    right = np.isfinite(numbers) & (numbers <= high) & ((numbers > low) if open_low else (numbers >= low))
    if not right.all():
        raise InputError(f"{name} must be finite and {bounds}; got {_some(numbers[~right])}")
    return numbers


def probabilities(name: str, values: ArrayLike) -> FloatArray:
    """Return the numbers as floats, all of them in [0, 1].

    >>> probabilities("flip", 0.1)
    array(0.1)
    """
    return in_range(name, values, 0, 1)


def whole_numbers(name: str, values: ArrayLike, low: int, high: int) -> NDArray[np.int64]:
    """Return the numbers as integers, all of them whole and in the range.

    >>> whole_numbers("n_attackers", [3, 4.0], 0, 20)
    array([3, 4])
    """
    numbers = in_range(name, values, low, high)
    if (numbers % 1).any():
        raise InputError(
            f"{name} must be whole numbers from {low} to {high}; got {_some(numbers[numbers % 1 > 0])}"
        )
    return numbers.astype(np.int64)


def _some(wrong: NDArray[Any]) -> str:
    """Return the first few, so that a message about a large array stays short."""
    shown = ", ".join(f"{value:g}" for value in wrong.flat[:3])
    return shown + (f" and {wrong.size - 3} more" if wrong.size > 3 else "")
