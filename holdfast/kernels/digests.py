"""Keyed checksums at the speed of the caches: whoever does not know the key cannot change bytes unnoticed.

NH, the universal hash of UMAC (Black et al., 1999, https://www.cs.ucdavis.edu/~rogaway/umac/): a key is added
to the words, and the two halves of each are multiplied. Two different contents have the same checksum for at
most about one key in 2**28. That holds for contents chosen without a look at the key or at any checksum.
"""

import secrets
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..updates.rows import CELL

__all__ = ["Key", "are_as_known"]

Array = NDArray[Any]

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
    if cut < values.size and cut * size % 8:  # words are to start where cells do
        is_same = are_as_known(values[:cut], at, first=first, last=last, known=known, key=key)
        rest = values[cut:].copy()
        return are_as_known(rest, at + cut, first=first, last=last, known=known, key=key) and is_same
    address = values.ctypes.data
    if address % 8:
        values = values.copy()
        address = values.ctypes.data
    return bool(compare(np.uint64(address), size, at, stop, first, last, *key, known))
