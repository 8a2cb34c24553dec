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
    >>> far.lengths(cut=3.0)
    array([2., 3.])
    """

    values: NDArray[np.float32]  # [row, coordinate]
    middle: NDArray[np.float32]
    unit: NDArray[np.float64]

    def lengths(self, *, cut: float) -> NDArray[np.float64]:
        """Return the length of each row of deviations, none of which counts for more than `cut`."""
        from ._deviations import length

        found = np.empty(len(self.values))

        def measure(part: slice) -> None:
            found[part] = [length(row, self.middle, self.unit, cut) for row in self.values[part]]

        in_parts(measure, len(found))
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
