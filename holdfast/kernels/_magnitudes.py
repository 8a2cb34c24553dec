"""Compiled: sums of magnitudes of rows over a range of columns, in float64."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._blocks import workspace
from ._forms import PANEL, Source
from ._machine import compiled
from ._sums import fill

__all__ = ["magnitudes"]

Array = NDArray[Any]


@compiled
def magnitudes(source: Source, beside: Array, start: int, stop: int, total: Array, bad: Array) -> None:
    """Add the magnitudes of each row over columns start to stop, four lanes at a time, to total[0]."""
    work = workspace(source)
    n_rows = total.shape[1]
    panel = np.zeros(n_rows * PANEL)
    for at in range(start, stop, PANEL):
        fill(source, beside, at, min(at + PANEL, stop), work, panel, bad)
        for row in range(n_rows):
            s0 = s1 = s2 = s3 = 0.0
            for column in range(0, PANEL, 4):
                c = np.uint64(row) * np.uint64(PANEL) + np.uint64(column)
                s0 += abs(panel[c])
                s1 += abs(panel[c + np.uint64(1)])
                s2 += abs(panel[c + np.uint64(2)])
                s3 += abs(panel[c + np.uint64(3)])
            total[0, row] += (s0 + s2) + (s1 + s3)
