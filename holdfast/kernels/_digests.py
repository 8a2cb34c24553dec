"""Compiled: keyed checksums of bytes that still lie in the caches, cell by cell."""

from typing import Any

import numpy as np
from numba import config
from numpy.typing import NDArray

from ..updates.rows import CELL
from ._machine import compiled, inner, read_at, view
from .digests import WORDS

__all__ = ["compare", "read_and_compare"]

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


@inner
def is_read(file: Any, at: int, address: Any, n_bytes: int) -> bool:
    """Return whether so many bytes of a file could be read into memory."""
    n_done = 0
    while n_done < n_bytes:
        found = read_at(file, address + np.uint64(n_done), np.uint64(n_bytes - n_done), np.int64(at + n_done))
        if found <= 0:
            return False
        n_done += found
    return True


@compiled
def read_and_compare(
    files: Array, places: Array, memory: Array, known: Array, key: Array, factors: Array
) -> int:
    """Read pieces of files and compare them; return how many are done, -1 less that if the next is changed.

    `places` are those of InFile, `memory` is where numbers go, how long one is, and how many there are, and
    `known` where the checksums lie, or 0.
    """
    for piece in range(files.size):
        at, place, first, last = places[piece]
        address, size, count = memory[piece, 0], np.int64(memory[piece, 1]), np.int64(memory[piece, 2])
        if not is_read(files[piece], at, address, size * count):
            return piece
        if known[piece] != np.uint64(0):
            cells = view(known[piece], -(-last // CELL) - first // CELL, np.uint64)
            if not compare(address, size, place, place + count, first, last, key, factors, cells):
                return -1 - piece
    return files.size


if config.DISABLE_JIT:
    compare = np.errstate(over="ignore")(compare)  # what wraps around does so without a word when compiled
