"""From clients' rows to addresses in memory, which is what the compiled loops read."""

import ctypes
import threading
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from ..updates.layout import FLOATS, Unfit
from ..updates.pieces import Stored, flat_piece
from ..updates.rows import Rows
from ._forms import BFLOAT16, FLOAT16, FLOAT32, FLOAT64, Source

__all__ = ["Reader", "address_of"]

Array = NDArray[Any]

KINDS = {
    np.dtype(order + name): kind
    for order in "<>"
    for name, kind in {"f4": FLOAT32, "f8": FLOAT64, "f2": FLOAT16, "u2": BFLOAT16}.items()
}
FIRST_BYTE: Any = ctypes.c_byte.from_buffer  # of an array, which it takes like any buffer
BASE = -1  # stands for the base where a row's number is expected


@dataclass(frozen=True)
class Reader:
    """Where the numbers of the rows lie. What cannot be read in place is copied, a piece at a time.

    >>> from holdfast.updates import rows_of
    >>> Reader.of(rows_of(np.ones((3, 8), dtype=np.float32))).is_in_place
    True
    """

    rows: Rows
    source: Source
    scattered: tuple[tuple[int, int], ...]  # (layer, row or BASE) of what does not lie in one piece
    mixing: NDArray[np.float64] | None  # what the loops read are these sums of the rows
    # Each thread reads files into memory of its own, again and again: new memory costs as much as reading.
    local: threading.local = field(default_factory=threading.local, compare=False)

    @classmethod
    def of(cls, rows: Rows) -> "Reader":
        """Return the reader of these rows."""
        columns = [*rows.arrays, *([rows.base] if rows.base is not None else [])]
        arrays = [array for column in columns for array in column]
        shape, n = (len(columns), len(rows.layout.layers)), len(rows.arrays)
        places = [_place(array) for array in arrays]
        addresses = np.array(places, dtype=np.uint64).reshape(shape).T
        kinds = np.array([KINDS[array.dtype] for array in arrays], dtype=np.uint8).reshape(shape).T
        source = Source(
            np.ascontiguousarray(addresses[:, :n]),
            np.ascontiguousarray(kinds[:, :n]),
            np.array(rows.layout.offsets, dtype=np.int64),
            np.array([FLOATS[layer.type_name] for layer in rows.layout.layers], dtype=rows.dtype),
            np.ascontiguousarray(addresses[:, n:].reshape(-1)),
            np.ascontiguousarray(kinds[:, n:].reshape(-1)),
        )
        scattered = [
            (layer, row if row < n else BASE)
            for layer, row in (np.argwhere(addresses == 0).tolist() if 0 in places else ())
            if rows.layout.layers[layer].size > 0
        ]
        return cls(rows.unmixed, source, tuple(scattered), rows.mixing)

    @property
    def is_in_place(self) -> bool:
        """Whether nothing needs to be copied."""
        return not self.scattered and self.mixing is None

    @cached_property
    def rows_by_layer(self) -> dict[int, list[int]]:
        """The rows that must be copied, of each layer that has some."""
        found: dict[int, list[int]] = {}
        for layer, row in self.scattered:
            found.setdefault(layer, []).append(row)
        return found

    @cached_property
    def parts_of_sums(self) -> tuple[Array, Array]:
        """The rows that have a part in each sum, one sum after the other, and where each sum's end."""
        assert self.mixing is not None
        sums, parts = np.nonzero(self.mixing)
        return parts, np.searchsorted(sums, np.arange(len(self.mixing)), side="right")

    def at(self, start: int, stop: int) -> tuple[Source, list[Array]]:
        """Return the addresses for coordinates start to stop, and the copies that must live as long.

        What is read from a file lies in memory that the next call by the same thread fills anew.
        """
        source, copies = self._sent(start, stop)
        return (source, copies) if self.mixing is None else self._mixed(source, start, stop)

    def _mixed(self, sent: Source, start: int, stop: int) -> tuple[Source, list[Array]]:
        """Return the addresses of sums of the rows, and the sums; rows that are not finite are refused."""
        from ._mixing import mix

        assert self.mixing is not None
        bad = np.zeros(len(self.rows), dtype=np.int64)
        sums = np.empty((len(self.mixing), stop - start), dtype=self.rows.dtype)
        mix(sent, self.mixing, *self.parts_of_sums, start, stop, sums, bad)
        self.rows.refuse(bad)
        firsts = [(address_of(row) - start * sums.itemsize) % 2**64 for row in sums]
        # As if the whole update lay there: the loops count from the first number of each layer.
        skipped = self.source.offsets[:-1, None].astype(np.uint64) * np.uint64(sums.itemsize)
        addresses = np.array(firsts, dtype=np.uint64) + skipped
        kinds = np.full(addresses.shape, KINDS[sums.dtype], dtype=np.uint8)
        no_base = sent.base_addresses[:0], sent.base_kinds[:0]
        return Source(addresses, kinds, sent.offsets, sent.limits, *no_base), [sums]

    def _sent(self, start: int, stop: int) -> tuple[Source, list[Array]]:
        """Return the same of the rows as they were sent."""
        if not self.scattered:
            return self.source, []
        addresses, base_addresses = self.source.addresses.copy(), self.source.base_addresses.copy()
        pieces = [(layer, inside) for layer, inside, _ in self.rows.pieces(start, stop)]
        copies, room, used, wanted = [], self._room(pieces), 0, []
        for layer, inside in pieces:
            for row in self.rows_by_layer.get(layer, ()):
                array = self._array(layer, row)
                if isinstance(array, np.ndarray):
                    native = array.dtype.newbyteorder("=")
                    copy = np.require(flat_piece(array, inside), native, ["C", "ALIGNED"])
                    copies.append(copy)
                else:
                    n_bytes = (inside.stop - inside.start) * array.dtype.itemsize
                    copy = room[used : used + n_bytes].view(array.dtype)
                    used += _aligned(n_bytes)
                    wanted.append((array, inside.start, copy, row))
                # As if the whole layer lay there: the loops count from its first number.
                address = (address_of(copy) - inside.start * copy.itemsize) % 2**64
                if row == BASE:
                    base_addresses[layer] = address
                else:
                    addresses[layer, row] = address
        self._read_all(wanted)
        return self.source._replace(addresses=addresses, base_addresses=base_addresses), copies

    def _array(self, layer: int, row: int) -> Array | Stored:
        if row == BASE:
            assert self.rows.base is not None
            return self.rows.base[layer]
        return self.rows.arrays[row][layer]

    def _room(self, pieces: list[tuple[int, slice]]) -> Array:
        """Return this thread's own memory, large enough for all that is read from files."""
        needed = 0
        for layer, inside in pieces:
            for row in self.rows_by_layer.get(layer, ()):
                array = self._array(layer, row)
                if not isinstance(array, np.ndarray):
                    needed += _aligned((inside.stop - inside.start) * array.dtype.itemsize)
        room: Array | None = getattr(self.local, "room", None)
        if room is None or room.size < needed:
            room = self.local.room = np.empty(needed, dtype=np.uint8)
        return room

    def _read_all(self, wanted: list[tuple[Stored, int, Array, int]]) -> None:
        """Fill memory from files in one go; what does not lie in one, or cannot be read so, by itself."""
        from .digests import CHANGED, read_as_known

        pieces = [array.in_file(start, out.size) for array, start, out, _ in wanted]
        in_files = [piece for piece in pieces if piece is not None]
        n_read = 0
        if in_files and len(in_files) == len(wanted):
            n_read, is_changed = read_as_known(in_files, [out for _, _, out, _ in wanted])
            if is_changed:
                self.rows.refuse(np.arange(len(self.rows)) == wanted[n_read][3], CHANGED)
        for array, start, out, row in wanted[n_read:]:
            self._read(array, start, out, row)

    def _read(self, array: Stored, start: int, out: Array, row: int) -> None:
        try:
            array.read(start, out)
        except Unfit as reason:
            if row == BASE:
                raise DataError(f"base, the global model, holds {reason}") from None
            self.rows.refuse(np.arange(len(self.rows)) == row, str(reason))


def _aligned(n_bytes: int) -> int:
    return -(-n_bytes // 64) * 64


def _place(array: Array | Stored) -> int:
    """Return where the array starts; 0 if its numbers do not lie one after the other as loops need them."""
    if not isinstance(array, np.ndarray):
        return 0
    flags = array.flags
    is_ready = flags.c_contiguous and flags.aligned and array.dtype.isnative
    return address_of(array) if is_ready else 0


def address_of(array: Array) -> int:
    """Return where a contiguous array starts. Every layer of every client is asked, and many are small."""
    try:
        return ctypes.addressof(FIRST_BYTE(array))
    except (TypeError, ValueError):  # may not be written to, or is empty: NumPy tells, in four times as long
        return int(array.__array_interface__["data"][0])
