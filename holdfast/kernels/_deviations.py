"""Compiled: how far numbers lie from a middle, in units and cut off, and what is remembered of it."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._machine import compiled, inlined

__all__ = ["blend", "length"]

Array = NDArray[Any]


@inlined
def cut_off(value: Any, middle: Any, unit: float, cut: float) -> Any:
    """Return the deviation of one number."""
    return min(max((np.float64(value) - np.float64(middle)) / unit, -cut), cut)


@compiled
def length(values: Array, middle: Array, unit: Array, cut: float) -> float:
    """Return the length of a row of deviations."""
    square = 0.0
    for c in range(len(values)):
        far = cut_off(values[c], middle[c], unit[c], cut)
        square += far * far
    return float(np.sqrt(square))


@compiled
def blend(
    before: Array,
    values: Array,
    middle: Array,
    unit: Array,
    cut: float,
    factor: float,
    pace: float,
    after: Array,
) -> None:
    """Fill `after` with what was before, moved towards the row's deviations times the factor."""
    for c in range(len(values)):
        told, old = factor * cut_off(values[c], middle[c], unit[c], cut), np.float64(before[c])
        after[c] = np.int16(np.rint(old + pace * (told - old)))
