"""Rows as deviations from a middle, in units of a coordinate's own: never made as such, only on the way."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .._support.threads import in_parts

__all__ = ["Deviations"]


@dataclass(frozen=True, eq=False)
class Deviations:
    """How far rows lie from a middle.

    >>> far = Deviations(np.eye(2, dtype=np.float32), np.zeros(2, np.float32), np.array([0.5, 0.1]))
    >>> far.lengths(cuts=[3.0])
    array([[2., 3.]])
    """

    values: NDArray[np.float32]  # [row, coordinate]
    middle: NDArray[np.float32]
    unit: NDArray[np.float64]

    def lengths(self, *, cuts: Sequence[float]) -> NDArray[np.float64]:
        """Return the length of each row, [cut, row], no deviation counting for more than the cut."""
        from ._deviations import lengths as measure

        found = np.empty((len(cuts), len(self.values)))

        def measure_part(part: slice) -> None:
            here = np.empty((len(cuts), part.stop - part.start))
            measure(self.values[part], self.middle, self.unit, np.array(cuts), here)
            found[:, part] = here

        in_parts(measure_part, len(self.values))
        return found

    def blended(
        self,
        before: Sequence[NDArray[np.int16]],
        *,
        cut: float,
        factors: NDArray[np.float64],
        paces: NDArray[np.float64],
    ) -> list[NDArray[np.int16]]:
        """Return what was before, each row moved at its pace towards its deviations times its factor.

        >>> far = Deviations(np.eye(2, dtype=np.float32), np.zeros(2, np.float32), np.ones(2))
        >>> paces = np.array([1, 0.5])
        >>> far.blended(np.zeros((2, 2), np.int16), cut=1.0, factors=np.array([8, 8]), paces=paces)
        [array([8, 0], dtype=int16), array([0, 4], dtype=int16)]
        """
        from ._deviations import blend

        after = [np.empty_like(row) for row in before]

        def move(part: slice) -> None:
            for row in range(part.start, part.stop):
                told = self.values[row], self.middle, self.unit, cut
                blend(before[row], *told, float(factors[row]), float(paces[row]), after[row])

        in_parts(move, len(after))
        return after
