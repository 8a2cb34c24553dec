"""Compiled: keyed checksums of bytes that still lie in the caches, cell by cell."""

from typing import Any

import numpy as np
from numba import config
from numpy.typing import NDArray

from ..updates.rows import CELL
from ._machine import compiled, inner, view
from .digests import WORDS

__all__ = ["compare"]

Array = NDArray[Any]

LOW, HALF = np.uint64(0xFFFFFFFF), np.uint64(32)


@inner
def checksum(address: Any, n_bytes: int, key: Array, factors: Array) -> Any:
    """Return the sum over blocks of factor times NH, and the same of one more word: the bytes left over."""
    n_words = n_bytes // 8
    rest, left = np.uint64(0), view(address + np.uint64(8 * n_words), n_bytes % 8, np.uint8)
    for i in range(left.size):
        rest |= np.uint64(left[i]) << np.uint64(8 * i)
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
    return max(total, np.uint64(1))


@compiled
def compare(
    address: Any,
    size: int,
    at: int,
    stop: int,
    first: int,
    last: int,
    key: Array,
    factors: Array,
    known: Array,
) -> bool:
    """Return whether all whole cells of places at to stop are as known; fill in what is not known, 0."""
    is_same = True
    for cell in range(at // CELL, -(-stop // CELL)):
        low, high = max(first, cell * CELL), min(last, (cell + 1) * CELL)
        if at <= low and high <= stop:
            found = checksum(address + np.uint64(size * (low - at)), size * (high - low), key, factors)
            number = cell - first // CELL
            if known[number] == np.uint64(0):
                known[number] = found
            elif known[number] != found:
                is_same = False
    return is_same


if config.DISABLE_JIT:
    compare = np.errstate(over="ignore")(compare)  # what wraps around does so without a word when compiled
