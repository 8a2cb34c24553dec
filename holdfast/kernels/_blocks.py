"""Compiled: a block of columns from wherever the rows lie into a buffer that stays in the nearest caches.

Plain loops throughout, even to clear or copy: what stands for them in NumPy takes Numba seconds to compile.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._forms import BFLOAT16, FLOAT32, FLOAT64, WIDTH, Source, Work
from ._machine import as_float, inlined, inner, prefetch, view

__all__ = ["WIDTH", "clear", "load", "workspace"]

Array = NDArray[Any]

BIAS = np.uint32(112 << 23)  # between the exponents of float16 and float32
SMALLEST = np.uint32(1 << 23)  # the smallest exponent that is not of a denormal
AHEAD = 256  # columns to fetch early: memory answers after about as long as two blocks take


@inner
def clear(array: Array) -> None:
    """Set all to zero."""
    for i in range(array.size):
        array[i] = 0


@inner
def size_of(kind: int) -> Any:
    """Return the bytes of a number."""
    return np.uint64(4) if kind == FLOAT32 else np.uint64(8) if kind == FLOAT64 else np.uint64(2)


@inner
def widen(address: int, kind: int, count: int, target: Array, at: int) -> None:
    """Copy numbers of any kind into target[at : at + count]."""
    start = np.uint64(at)
    if kind == FLOAT32:
        singles = view(address, count, np.float32)
        for c in range(count):
            target[start + np.uint64(c)] = singles[c]
    elif kind == FLOAT64:
        doubles = view(address, count, np.float64)
        for c in range(count):
            target[start + np.uint64(c)] = doubles[c]
    elif kind == BFLOAT16:
        halves = view(address, count, np.uint16)
        for c in range(count):
            target[start + np.uint64(c)] = as_float(np.uint32(halves[c]) << np.uint32(16))
    else:
        halves = view(address, count, np.uint16)
        for c in range(count):
            bits = np.uint32(halves[c])
            # Exponent and fraction move to their places in 32 bits, and the exponent to the other bias.
            moved = (bits & np.uint32(0x7FFF)) << np.uint32(13)
            size = as_float(moved + BIAS)
            if moved < SMALLEST:  # a denormal: made here of numbers that are none, which processors may flush
                size = as_float(moved + BIAS + SMALLEST) - np.float32(2.0**-14)
            if size >= np.float32(65536.0):  # infinite or NaN; either will be found out
                size = np.float32(np.inf)
            target[start + np.uint64(c)] = -size if bits & np.uint32(0x8000) else size


@inner
def layer_at(offsets: Array, coordinate: int) -> int:
    """Return the layer that holds a coordinate, or one of no size before it."""
    first, last = 0, offsets.size - 1
    while last - first > 1:
        middle = (first + last) // 2
        if offsets[middle] <= coordinate:
            first = middle
        else:
            last = middle
    return first


@inlined
def take(address: int, buffer: Array, start: int, limit: float, signs: Array) -> Any:
    """Copy and inspect a full block of one row in one go: the usual case, and half the time of a round."""
    singles = view(address, WIDTH, np.float32)
    n_bad = np.int32(0)
    for c in range(WIDTH):
        column = np.uint64(c)
        x = singles[column]
        buffer[start + column] = x
        signs[column] += np.int32(x > 0) - np.int32(x < 0)
        n_bad += np.int32(not abs(x) <= limit)
    return n_bad


@inlined
def inspect(buffer: Array, start: int, count: int, limit: float, signs: Array, done: int) -> Any:
    """Add the signs of one row to the columns' sums; return how many values its type cannot hold."""
    n_bad = np.int32(0)
    for c in range(count):
        column = np.uint64(c)
        x = buffer[start + column]
        signs[done + column] += np.int32(x > 0) - np.int32(x < 0)
        n_bad += np.int32(not abs(x) <= limit)
    return n_bad


@inner
def load(source: Source, at: int, width: int, work: Work, bad: Array) -> None:
    """Fill the buffer with columns at to at + width of all rows, less the base; inspect them on the way."""
    n_rows = source.addresses.shape[1]
    has_base = source.base_addresses.size > 0
    clear(work.signs)
    if width < WIDTH:
        clear(work.buffer)
    layer, done = layer_at(source.offsets, at), 0
    while done < width:
        while source.offsets[layer + 1] <= at + done:
            layer += 1
        inside = np.uint64(at + done - source.offsets[layer])
        count = min(width - done, source.offsets[layer + 1] - at - done)
        limit = source.limits[layer]
        if has_base:
            kind = source.base_kinds[layer]
            widen(source.base_addresses[layer] + inside * size_of(kind), kind, count, work.base, np.uint64(0))
        for row in range(n_rows):
            kind = source.kinds[layer, row]
            address = source.addresses[layer, row] + inside * size_of(kind)
            for line in range(np.uint64(WIDTH) * size_of(kind) // np.uint64(64)):
                prefetch(address + np.uint64(AHEAD) * size_of(kind) + np.uint64(64) * np.uint64(line))
            start = np.uint64(row * WIDTH + done)
            if kind == FLOAT32 and count == WIDTH and not has_base:
                bad[row] += take(address, work.buffer, start, limit, work.signs)
                continue
            widen(address, kind, count, work.buffer, start)
            if has_base:
                for c in range(count):
                    work.buffer[start + np.uint64(c)] -= work.base[np.uint64(c)]
            bad[row] += inspect(work.buffer, start, count, limit, work.signs, np.uint64(done))
        done += count


@inner
def workspace(source: Source) -> Work:
    """Return buffers for a block of all rows."""
    n_rows, dtype = source.addresses.shape[1], source.limits.dtype
    return Work(np.empty(n_rows * WIDTH, dtype), np.empty(WIDTH, dtype), np.empty(WIDTH, np.int32))
