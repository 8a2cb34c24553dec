"""Compiled: Manhattan distances of rows over a range of columns, in float64."""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config
from numba.core import cgutils
from numba.extending import intrinsic
from numpy.typing import NDArray

from ._blocks import workspace
from ._forms import Source
from ._lanes import lane_sum, take, zeros
from ._machine import compiled, inner
from ._sums import PANEL, fill

__all__ = ["manhattan"]

Array = NDArray[Any]

if config.DISABLE_JIT:

    def add_distance(sums: Array, x: Array, y: Array) -> Any:
        """Return sums + |x - y|."""
        return sums + np.abs(x - y)

else:

    @intrinsic
    def add_distance(context: Any, sums: Any, x: Any, y: Any) -> Any:
        """Return sums + |x - y|."""

        def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            difference = builder.fsub(args[1], args[2])
            kind = ir.FunctionType(difference.type, [difference.type])
            size = cgutils.get_or_insert_function(builder.module, kind, "llvm.fabs.v4f64")
            return builder.fadd(args[0], builder.call(size, [difference]))

        return sums(sums, x, y), generate


@inner
def tile(panel: Array, i: int, j: int, like: Array, total: Array) -> None:
    """Add the distances of row i from rows j to j + 4."""
    step = np.uint64(PANEL)
    i0, j0 = np.uint64(i) * step, np.uint64(j) * step
    j1, j2, j3 = j0 + step, j0 + step + step, j0 + step + step + step
    d0 = d1 = d2 = d3 = zeros(like)
    for column in range(0, PANEL, 4):
        c = np.uint64(column)
        x = take(panel, i0 + c)
        d0, d1 = add_distance(d0, x, take(panel, j0 + c)), add_distance(d1, x, take(panel, j1 + c))
        d2, d3 = add_distance(d2, x, take(panel, j2 + c)), add_distance(d3, x, take(panel, j3 + c))
    total[i, j] += lane_sum(d0)
    total[i, j + 1] += lane_sum(d1)
    total[i, j + 2] += lane_sum(d2)
    total[i, j + 3] += lane_sum(d3)


@compiled
def manhattan(source: Source, beside: Array, start: int, stop: int, total: Array, bad: Array) -> None:
    """Add the distances of pairs of rows over columns start to stop; total is padded to fours.

    Each row is held against those after it, and against some before.
    """
    work = workspace(source)
    n_rows, n_all = source.addresses.shape[1], len(total)
    panel = np.zeros(n_all * PANEL)
    for at in range(start, stop, PANEL):
        fill(source, beside, at, min(at + PANEL, stop), work, panel, bad)
        for i in range(n_rows):
            for j in range(i // 4 * 4, n_all, 4):
                tile(panel, i, j, source.limits, total)
