"""Compiled: of each sorted column, the mean of the numbers closest to the median."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._blocks import WIDTH
from ._forms import Made
from ._machine import inner

__all__ = ["nearest_mean"]

Array = NDArray[Any]


@inner
def nearest_mean(buffer: Array, n_rows: int, n_near: int, made: Made) -> None:
    """Set values to the mean of the n_near closest to the median, low and high to their range.

    In a sorted column these are neighbours. Where two at the ends are equally close, the lower one counts.
    """
    for c in range(WIDTH):
        lower, upper = buffer[(n_rows - 1) // 2 * WIDTH + c], buffer[n_rows // 2 * WIDTH + c]
        median = 0.5 * np.float64(lower) + 0.5 * np.float64(upper)
        first = 0
        while first < n_rows - n_near:
            below = median - np.float64(buffer[first * WIDTH + c])
            above = np.float64(buffer[(first + n_near) * WIDTH + c]) - median
            if below <= above:
                break
            first += 1
        total = 0.0
        for row in range(first, first + n_near):
            total += np.float64(buffer[row * WIDTH + c])
        made.values[c] = total / n_near
        made.low[c] = buffer[first * WIDTH + c]
        made.high[c] = buffer[(first + n_near - 1) * WIDTH + c]
