"""From clients' rows to addresses in memory, which is what the compiled loops read."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..layout import FLOATS
from ..updates import Rows, flat_piece
from .forms import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Source

__all__ = ["Reader"]

Array = NDArray[Any]

KINDS = {"float32": FLOAT32, "float64": FLOAT64, "float16": FLOAT16, "uint16": BFLOAT16}
BASE = -1  # stands for the base where a row's number is expected


@dataclass(frozen=True)
class Reader:
    """Where the numbers of the rows lie. What cannot be read in place is copied, a piece at a time.

    >>> from holdfast import rows_of
    >>> Reader.of(rows_of(np.ones((3, 8), dtype=np.float32))).is_in_place
    True
    """

    rows: Rows
    source: Source
    scattered: tuple[tuple[int, int], ...]  # (layer, row or BASE) of what does not lie in one piece

    @classmethod
    def of(cls, rows: Rows) -> "Reader":
        """Return the reader of these rows."""
        columns = [*rows.arrays, *([rows.base] if rows.base is not None else [])]
        addresses = np.array([[_address(array) for array in arrays] for arrays in columns], dtype=np.uint64).T
        kinds = np.array(
            [[KINDS[array.dtype.name] for array in arrays] for arrays in columns], dtype=np.uint8
        ).T
        n = len(rows)
        source = Source(
            np.ascontiguousarray(addresses[:, :n]),
            np.ascontiguousarray(kinds[:, :n]),
            np.array(rows.layout.offsets, dtype=np.int64),
            np.array([FLOATS[layer.type_name] for layer in rows.layout.layers], dtype=rows.dtype),
            np.ascontiguousarray(addresses[:, n:].reshape(-1)),
            np.ascontiguousarray(kinds[:, n:].reshape(-1)),
        )
        scattered = [(int(layer), int(row)) for layer, row in np.argwhere(addresses == 0)]
        has_numbers = [layer.size > 0 for layer in rows.layout.layers]
        return cls(
            rows,
            source,
            tuple((layer, row if row < n else BASE) for layer, row in scattered if has_numbers[layer]),
        )

    @property
    def is_in_place(self) -> bool:
        """Whether nothing needs to be copied."""
        return not self.scattered

    def at(self, start: int, stop: int) -> tuple[Source, list[Array]]:
        """Return the addresses for coordinates start to stop, and the copies that must live as long."""
        if self.is_in_place:
            return self.source, []
        addresses, base_addresses = self.source.addresses.copy(), self.source.base_addresses.copy()
        pieces = {layer: inside for layer, inside, _ in self.rows.pieces(start, stop)}
        copies = []
        for layer, row in self.scattered:
            if layer not in pieces:
                continue
            array = self._array(layer, row)
            copy = np.array(flat_piece(array, pieces[layer]), dtype=array.dtype.newbyteorder("="), order="C")
            copies.append(copy)
            # As if the whole layer lay there: the loops count from its first number.
            address = (_address(copy) - pieces[layer].start * copy.itemsize) % 2**64
            if row == BASE:
                base_addresses[layer] = address
            else:
                addresses[layer, row] = address
        return self.source._replace(addresses=addresses, base_addresses=base_addresses), copies

    def _array(self, layer: int, row: int) -> Array:
        if row == BASE:
            assert self.rows.base is not None
            return self.rows.base[layer]
        return self.rows.arrays[row][layer]


def _address(array: Array) -> int:
    """Return where the array starts, 0 if its numbers do not lie one after the other as loops need them."""
    in_place = array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative
    return int(array.__array_interface__["data"][0]) if in_place else 0
