"""What a client's file held when it was first read: a file that shows two contents in one round is refused.

Times and sizes tell of ordinary writes. A client that has mapped its file into memory can write to it without
a trace, and show one content to the pass that judges and another to the pass that adds.
"""

from array import array
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..kernels.digests import CHANGED, Key, are_as_known, starts_words
from ..updates.layout import Unfit
from ..updates.pieces import InFile
from ..updates.rows import CELL

__all__ = ["CHANGED", "Witness"]

Array = NDArray[Any]

#: Single numbers of a tensor that are kept, at most: far more than a watch samples.
MOST_SAMPLED = 8 * CELL


@dataclass(eq=False)
class Witness:
    """Checksums of what was read of a tensor, cell by cell; of cells read in part, the numbers themselves.

    >>> seen = Witness.of(Key.new(), 0, 3, np.dtype(np.float32))
    >>> seen.check(0, np.float32([1, 2, 3]))
    >>> seen.check(0, np.float32([1, 2, 4]))
    Traceback (most recent call last):
    holdfast.updates.layout.Unfit: bytes that were changed while they were read
    """

    key: Key
    first: int  # place of the tensor's first number in an update
    stop: int
    bits: np.dtype[Any]  # a number, as a whole one
    digests: NDArray[np.uint64]  # of each cell that the tensor reaches into; 0: not read yet
    places: "array[int]" = field(default_factory=lambda: array("q"))
    sampled: bytearray = field(default_factory=bytearray)  # the numbers at these places
    in_order: tuple[Array, Array] | None = None  # both, sorted by place, once they are asked for

    @classmethod
    def of(cls, key: Key, first: int, size: int, dtype: np.dtype[Any]) -> "Witness":
        """Return the witness of a tensor of which nothing was read yet."""
        n_cells = -(-(first + size) // CELL) - first // CELL
        return cls(key, first, first + size, np.dtype(f"u{dtype.itemsize}"), np.zeros(n_cells, np.uint64))

    def check(self, start: int, values: Array) -> None:
        """Raise Unfit if the numbers from `start` on are others than before; keep what is new."""
        at, stop = self.first + start, self.first + start + values.size
        if not are_as_known(values, at, first=self.first, last=self.stop, known=self.digests, key=self.key):
            raise Unfit(CHANGED)
        low, high = self._whole_cells(at, stop)
        if low < high and self.places:
            self._check_sample(at, values)
        if at < low:
            self._keep(at, values[: low - at])
        if high < stop:
            self._keep(high, values[high - at :])

    def known_of(self, piece: InFile, start: int, size: int) -> InFile | None:
        """Return the piece with the checksums that tell all about it; None if it must be given to `check`."""
        at, stop = self.first + start, self.first + start + size
        if self.places or (at, stop) != self._whole_cells(at, stop):
            return None
        if not starts_words(at, size, self.bits.itemsize):
            return None
        return piece._replace(place=at, first=self.first, last=self.stop, known=self.digests, key=self.key)

    def _whole_cells(self, at: int, stop: int) -> tuple[int, int]:
        """Return where whole cells begin and end; a layer's first and last are whole if all of them is."""
        low = at if at == self.first else min(-(-at // CELL) * CELL, stop)
        return low, stop if stop == self.stop else max(stop // CELL * CELL, low)

    def _keep(self, at: int, values: Array) -> None:
        """Keep numbers of a cell that was not read as a whole."""
        if values.size <= MOST_SAMPLED - len(self.places):
            self.places.extend(range(at, at + values.size))
            self.sampled += values.tobytes()
            self.in_order = None

    def _check_sample(self, at: int, values: Array) -> None:
        """Raise Unfit if numbers that were read one by one are others now."""
        places, sampled = self._sample()
        here = slice(*np.searchsorted(places, (at, at + values.size)))
        if (values.view(self.bits)[places[here] - at] != sampled[here]).any():
            raise Unfit(CHANGED)

    def _sample(self) -> tuple[Array, Array]:
        """Return the numbers that were read one by one, and before them their places, which are in order."""
        if self.in_order is None:
            places = np.array(self.places)
            order = np.argsort(places, kind="stable")
            self.in_order = places[order], np.frombuffer(bytes(self.sampled), dtype=self.bits)[order]
        return self.in_order

    def __setstate__(self, state: dict[str, Any]) -> None:
        """Take over what another process knows; Ray hands arrays over to be read only."""
        self.__dict__.update(state, digests=state["digests"].copy())

    def part(self, piece: slice) -> "Witness":
        """Return the witness of a part, whose checksums are those of the whole; cut where cells end."""
        first, stop = self.first + piece.start, self.first + piece.stop
        cells = slice(first // CELL - self.first // CELL, -(-stop // CELL) - self.first // CELL)
        places, values = self._sample()
        here = slice(*np.searchsorted(places, (first, stop)))
        sample = array("q", places[here].tolist()), bytearray(values[here].tobytes())
        return Witness(self.key, first, stop, self.bits, self.digests[cells], *sample)
