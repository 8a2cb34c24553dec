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

    In a sorted column these are neighbours. Where values below and above are equally close, the value is
    halfway between the mean with those below and the mean with those above, so that no sign is preferred.
    """
    for c in range(WIDTH):
        lower, upper = buffer[(n_rows - 1) // 2 * WIDTH + c], buffer[n_rows // 2 * WIDTH + c]
        median = 0.5 * np.float64(lower) + 0.5 * np.float64(upper)
        first = last = 0
        while last < n_rows - n_near:
            below = median - np.float64(buffer[last * WIDTH + c])
            above = np.float64(buffer[(last + n_near) * WIDTH + c]) - median
            if below < above:
                break
            last += 1
            if below > above:
                first = last
        with_lower = with_upper = 0.0
        for row in range(n_near):
            with_lower += np.float64(buffer[(first + row) * WIDTH + c])
            with_upper += np.float64(buffer[(last + row) * WIDTH + c])
        made.values[c] = (0.5 * with_lower + 0.5 * with_upper) / n_near
        made.low[c] = buffer[first * WIDTH + c]
        made.high[c] = buffer[(last + n_near - 1) * WIDTH + c]
