"""What a formula takes: numbers as float arrays, or an error that says what was needed."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..errors import InputError

__all__ = ["FloatArray", "in_range", "probabilities", "whole_numbers"]

FloatArray = NDArray[np.float64]


def in_range(
    name: str, values: ArrayLike, low: float, high: float = np.inf, *, open_low: bool = False
) -> FloatArray:
    """Return the numbers as floats, all of them finite and in the range."""
    bounds = f"above {low:g}" if open_low else f"of at least {low:g}"
    bounds += "" if high == np.inf else f", at most {high:g}"
    try:
        numbers = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InputError(f"{name} must be finite numbers {bounds}; got {values!r}") from None
    inside = np.isfinite(numbers) & (numbers <= high) & ((numbers > low) if open_low else (numbers >= low))
    if not inside.all():
        raise InputError(f"{name} must be finite and {bounds}; got {_first(numbers[~inside])}")
    return numbers


def probabilities(name: str, values: ArrayLike) -> FloatArray:
    """Return the numbers as floats, all of them in [0, 1]."""
    return in_range(name, values, 0, 1)


def whole_numbers(name: str, values: ArrayLike, low: int, high: int) -> NDArray[np.int64]:
    """Return the numbers as integers, all of them whole and in the range."""
    numbers = in_range(name, values, low, high)
    broken = numbers[numbers % 1 > 0]
    if broken.size:
        raise InputError(f"{name} must be whole numbers from {low} to {high}; got {_first(broken)}")
    return numbers.astype(np.int64)


def _first(wrong: NDArray[Any]) -> str:
    """Return the first few, so that a message about a large array stays short."""
    shown = ", ".join(f"{value:g}" for value in wrong.flat[:3])
    return shown + (f" and {wrong.size - 3} more" if wrong.size > 3 else "")
