"""Compiled: weighted sums of the rows, for passes over mixtures of clients' updates."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._blocks import WIDTH, clear, load, workspace
from ._forms import Source
from ._machine import compiled

__all__ = ["mix"]

Array = NDArray[Any]


@compiled
def mix(
    source: Source, weights: Array, parts: Array, ends: Array, start: int, stop: int, out: Array, bad: Array
) -> None:
    """Fill `out` with sums of the rows over columns start to stop, one sum per row of weights.

    `parts` are the rows that have a weight in the first sum, in the second, and so on; `ends` says where one
    sum's end. Added up in float64, in the order of the rows, so that blocks and tasks change nothing.
    """
    work = workspace(source)
    sums = np.empty(WIDTH)
    for at in range(start, stop, WIDTH):
        width = min(WIDTH, stop - at)
        load(source, at, width, work, bad)
        for i in range(weights.shape[0]):
            clear(sums)
            for part in range(ends[i - 1] if i > 0 else 0, ends[i]):
                weight, first = weights[i, parts[part]], np.uint64(parts[part] * WIDTH)
                for c in range(WIDTH):
                    column = np.uint64(c)
                    sums[column] += weight * np.float64(work.buffer[first + column])
            for c in range(width):
                out[i, at - start + c] = sums[c]
