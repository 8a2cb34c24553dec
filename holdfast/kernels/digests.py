"""Keyed checksums at the speed of the caches: whoever does not know the key cannot change bytes unnoticed.

NH, the universal hash of UMAC (Black et al., 1999, https://www.cs.ucdavis.edu/~rogaway/umac/): a key is added
to the words, and the two halves of each are multiplied. Two different contents have the same checksum for at
most about one key in 2**28. That holds for contents chosen without a look at the key or at any checksum.
"""

import secrets
from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..updates.pieces import InFile
from ..updates.rows import CELL
from ._reader import address_of

__all__ = ["CHANGED", "Key", "are_as_known", "read_as_known", "starts_words"]

Array = NDArray[Any]

CHANGED = "bytes that were changed while they were read"
#: Words of a block, and of the key: both stay in the nearest cache.
WORDS = 512
#: A cell of float64 has this many blocks at most; one more is for the bytes that fill no word.
N_FACTORS = CELL // WORDS + 1


class Key(NamedTuple):
    """Secret random numbers: what is added to words, and what blocks are multiplied by."""

    words: NDArray[np.uint64]
    factors: NDArray[np.uint64]  # odd: no block's checksum is lost

    @classmethod
    def new(cls) -> "Key":
        """Return a key that nobody can guess."""
        drawn = np.frombuffer(secrets.token_bytes(8 * (WORDS + N_FACTORS)), dtype=np.uint64)
        return cls(drawn[:WORDS].copy(), drawn[WORDS:] | np.uint64(1))


def are_as_known(
    values: Array, at: int, *, first: int, last: int, known: NDArray[np.uint64], key: Key
) -> bool:
    """Return whether numbers at place `at` of an update have the checksums that are known of their cells.

    They belong to a layer at places first to last, `known` has an entry for each cell that it reaches into,
    and 0, not known yet, is filled in. Cells that do not lie among the numbers as a whole are left out.

    >>> key, values, known = Key.new(), np.zeros(1000, dtype=np.float32), np.zeros(1, dtype=np.uint64)
    >>> are_as_known(values, 0, first=0, last=1000, known=known, key=key)
    True
    >>> values[7] = -0.0
    >>> are_as_known(values, 0, first=0, last=1000, known=known, key=key)
    False
    """
    from ._digests import compare

    size, stop = values.itemsize, at + values.size
    cut = min(CELL - at % CELL, values.size)
    if not starts_words(at, values.size, size):
        is_same = are_as_known(values[:cut], at, first=first, last=last, known=known, key=key)
        rest = values[cut:].copy()
        return are_as_known(rest, at + cut, first=first, last=last, known=known, key=key) and is_same
    address = values.ctypes.data
    if address % 8:
        values = values.copy()
        address = values.ctypes.data
    return bool(compare(np.uint64(address), size, at, stop, first, last, *key, known))


def starts_words(at: int, n_values: int, size: int) -> bool:
    """Return whether words, of eight bytes, start where cells do among numbers of this size at place `at`."""
    cut = CELL - at % CELL
    return cut >= n_values or cut * size % 8 == 0


def read_as_known(pieces: Sequence[InFile], values: Sequence[Array]) -> tuple[int, bool]:
    """Fill arrays from files and compare checksums; return how many are done, and if the next was changed.

    If it was not, it could not be read. All is one call that lets other threads run: for each of many short
    reads they would wait for one another.
    """
    from ._digests import read_and_compare

    keys = [piece.key for piece in pieces if piece.key is not None] or [Key.new()]
    known = [0 if piece.known is None else address_of(piece.known) for piece in pieces]
    found = read_and_compare(
        np.array([piece.file for piece in pieces], np.int32),
        np.array([piece[1:5] for piece in pieces], np.int64),
        np.array([(address_of(array), array.itemsize, array.size) for array in values], np.uint64),
        np.array(known, np.uint64),
        *keys[0],
    )
    return (-1 - found, True) if found < 0 else (found, False)
