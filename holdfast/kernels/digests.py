"""A keyed checksum at the speed of the caches: whoever does not know the key cannot change bytes unnoticed.

NH, the universal hash of UMAC (Black et al., 1999, https://www.cs.ucdavis.edu/~rogaway/umac/): a key is added
to the words, and the two halves of each are multiplied. Two different contents have the same checksum for at
most about one key in 2**28. That holds for contents chosen without a look at the key or at any checksum.
"""

import secrets
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..updates.rows import CELL

__all__ = ["Key", "digest"]

Array = NDArray[Any]

#: Words of a block, and of the key: both stay in the nearest cache.
WORDS = 512
#: A cell of float64 has this many blocks at most; one more is for the bytes that fill no word.
N_FACTORS = CELL // WORDS + 1


class Key(NamedTuple):
    """Secret random numbers: what words are moved by, and what blocks are multiplied by."""

    words: NDArray[np.uint64]
    factors: NDArray[np.uint64]  # odd: no block's checksum is lost

    @classmethod
    def new(cls) -> "Key":
        """Return a key that nobody can guess."""
        drawn = np.frombuffer(secrets.token_bytes(8 * (WORDS + N_FACTORS)), dtype=np.uint64)
        return cls(drawn[:WORDS].copy(), drawn[WORDS:] | np.uint64(1))


def digest(values: Array, key: Key) -> int:
    """Return the checksum of at most a cell of numbers that lie one after the other; never 0.

    >>> key, values = Key.new(), np.zeros(1000, dtype=np.float32)
    >>> before = digest(values, key)
    >>> values[7] = -0.0
    >>> digest(values, key) == before
    False
    """
    from ._digests import checksum

    aligned = values if values.ctypes.data % 8 == 0 else values.copy()
    raw = aligned.view(np.uint8)
    n_words = raw.size // 8
    rest = int.from_bytes(raw[8 * n_words :].tobytes(), "little")
    with np.errstate(over="ignore"):  # where the loop is not compiled
        return int(checksum(np.uint64(aligned.ctypes.data), n_words, np.uint64(rest), *key)) or 1
