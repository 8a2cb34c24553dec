"""Compiled: a keyed checksum of bytes that still lie in the caches."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._machine import compiled, view
from .digests import WORDS

__all__ = ["checksum"]

Array = NDArray[Any]

LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


@compiled
def checksum(address: Any, n_words: int, rest: Any, key: Array, factors: Array) -> Any:
    """Return the sum over blocks of factor times NH, and the same of one more word, the rest."""
    last = rest + key[0]
    total = (last & LOW) * (last >> HALF) * factors[factors.size - 1]
    for block in range(-(-n_words // WORDS)):
        count = min(WORDS, n_words - block * WORDS)
        words = view(address + np.uint64(8 * WORDS * block), count, np.uint64)
        found = np.uint64(0)
        for i in range(count):
            moved = words[np.uint64(i)] + key[np.uint64(i)]
            found += (moved & LOW) * (moved >> HALF)
        total += found * factors[block]
    return total
