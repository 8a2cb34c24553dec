"""Straight code called from Python, as long as the compiled loops are not loaded.

It does what `_columns.sweep` and `_sums.gram` do, with the same bits, for rows that are all of the type to
compute in. To load Numba takes longer than a round. Columns are read where they are; only blocks that reach
into several layers are copied together.
"""

import ctypes
from bisect import bisect_right
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._forms import FLOAT32, FLOAT64, LANES, PANEL, WIDTH, Found, Plan, Source
from ._reader import address_of

__all__ = ["gram", "is_plain", "sweep"]

Array = NDArray[Any]

#: What the code takes is told in `_straight` and in `_products`.
COLUMNS = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, *[ctypes.c_uint64] * 12)
PRODUCTS = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, *[ctypes.c_uint64] * 5)
MOST_LAYERS = 500  # each costs some microseconds here, and much less in the loops


def is_plain(source: Source) -> bool:
    """Return whether all numbers are of the type to compute in, in few enough layers."""
    kind = FLOAT32 if source.limits.itemsize == 4 else FLOAT64
    kinds = source.kinds.tobytes() + source.base_kinds.tobytes()
    return kinds.count(kind) == len(kinds) and len(source.limits) <= MOST_LAYERS


def sweep(
    source: Source, plan: Plan, code: int, start: int, stop: int, cell: int, out: Array, found: Found
) -> None:
    """Make one value of each column from start to stop, and measure the rows on the way if asked to."""
    at = start
    while at < stop:
        layer, number = _layer_at(source, at), at // cell - start // cell
        n_columns = min(stop, int(source.offsets[layer + 1])) - at
        if plan.explain:  # rows are measured by whole blocks, and apart in each cell
            n_columns = min(n_columns, cell - at % cell) // WIDTH * WIDTH
        if n_columns >= LANES:
            n_kept = _called(source, layer, plan, code, at, n_columns, number, out, found)
        else:
            n_columns = min(WIDTH, stop - at)
            n_kept = _block(source, plan, code, at, n_columns, number, out, found)
        if n_kept < 0:
            found.bad[:] += _bad_values(source, at, at + n_columns)
        else:
            found.kept[0] += n_kept
        at += n_columns


def gram(source: Source, beside: Array, code: int, start: int, stop: int, total: Array, bad: Array) -> None:
    """Add the dot products of pairs of rows over columns start to stop; total is padded to fours."""
    at = start
    while at < stop:
        layer = _layer_at(source, at)
        n_columns = (min(stop, int(source.offsets[layer + 1])) - at) // PANEL * PANEL
        if n_columns:
            end, own = at + n_columns, beside[at : at + n_columns]
            is_done = _multiplied(source, layer, own, code, at, n_columns, total)
        else:
            end = min(at + PANEL, stop)
            own = np.zeros(PANEL if beside.size else 0, source.limits.dtype)
            own[: end - at] = beside[at:end]
            whole, copies = _together(source, at, end, PANEL)
            is_done = _multiplied(whole, 0, own, code, 0, PANEL, total)
            del copies  # not before: the source points into them
        if not is_done:
            bad += _bad_values(source, at, end)
        at = end


def _multiplied(
    source: Source, layer: int, own: Array, code: int, at: int, n_columns: int, total: Array
) -> bool:
    """Add the products over whole panels; return whether all values are good."""
    skipped = (at - int(source.offsets[layer])) * source.limits.itemsize
    addresses = source.addresses[layer]
    if own.size:  # lies where the columns begin, which is where the code skips to
        addresses = np.append(addresses, np.uint64((address_of(own) - skipped) % 2**64))
    base = int(source.base_addresses[layer]) + skipped if source.base_kinds.size else 0
    given = (address_of(addresses), skipped, base, n_columns, address_of(total))
    return int(PRODUCTS(code)(float(source.limits[layer]), *given)) == 0


def _block(
    source: Source, plan: Plan, code: int, at: int, width: int, number: int, out: Array, found: Found
) -> int:
    """Work on a block of several layers; return how many columns the mask kept, -1 if a value is bad."""
    n_rows, result = source.addresses.shape[1], np.empty(WIDTH, out.dtype)
    whole, copies = _together(source, at, at + width, WIDTH)
    n_kept = _called(whole, 0, plan, code, 0, WIDTH, number, result, found)
    del copies  # not before: the source points into them
    out[at : at + width] = result[:width]
    if plan.explain:  # columns past the width count nowhere
        for column in range(width, WIDTH):
            found.consistency[column % 4 * (n_rows + 1)] -= 1
    return n_kept if plan.n_votes > 0 or n_kept < 0 else width


def _called(
    source: Source,
    layer: int,
    plan: Plan,
    code: int,
    at: int,
    n_columns: int,
    number: int,
    out: Array,
    found: Found,
) -> int:
    """Let straight code work on columns; return how many of them the mask kept, -1 if a value is bad."""
    size = out.itemsize
    skipped = (at - int(source.offsets[layer])) * size
    measures = [0] * 5
    if plan.explain:
        by_row = found.opposed, found.trimmed, found.consistency
        measures = [address_of(array) for array in (found.squares[number], found.dots[number], *by_row)]
    given = (
        address_of(source.addresses[layer]),
        skipped,
        int(source.base_addresses[layer]) + skipped if source.base_kinds.size else 0,
        address_of(out) + at * size,
        n_columns,
        plan.n_votes,
        address_of(plan.weights) if plan.weights.size else 0,
    )
    return int(COLUMNS(code)(float(source.limits[layer]), *given, *measures))


def _together(source: Source, start: int, stop: int, width: int) -> tuple[Source, Array]:
    """Return columns start to stop, and zeros up to the width, as one layer; and what it points into."""
    n_rows, dtype = source.addresses.shape[1], source.limits.dtype
    copies = np.zeros((n_rows + source.base_kinds[:1].size, width), dtype)  # the base, if any, is the last
    size, stride = dtype.itemsize, copies.strides[0]
    places = [address_of(copies) + stride * row for row in range(len(copies))]
    for layer, first, last in _pieces(source, start, stop):
        skipped, inside = (first - int(source.offsets[layer])) * size, (first - start) * size
        sent = source.addresses[layer].tolist() + source.base_addresses[layer : layer + 1].tolist()
        for place, address in zip(places, sent, strict=True):
            ctypes.memmove(place + inside, (address + skipped) % 2**64, (last - first) * size)
    together = Source(
        np.array([places[:n_rows]], dtype=np.uint64),
        source.kinds[:1],
        np.array([0, width]),
        np.array([_limit(source, start, stop)], dtype),
        np.array(places[n_rows:], dtype=np.uint64),
        source.base_kinds[:1],
    )
    return together, copies


def _limit(source: Source, start: int, stop: int) -> float:
    """Return the largest magnitude for columns start to stop: 0 if layers differ in it and a value is bad."""
    limits = {float(source.limits[layer]) for layer, _, _ in _pieces(source, start, stop)}
    return 0.0 if len(limits) > 1 and _bad_values(source, start, stop).any() else max(limits)


def _bad_values(source: Source, start: int, stop: int) -> Array:
    """Return how many values of each row from start to stop its layer's type cannot hold."""
    n_rows = source.addresses.shape[1]
    bad = np.zeros(n_rows, np.int64)
    for layer, first, last in _pieces(source, start, stop):
        base: Any = 0
        if source.base_kinds.size:
            base = _numbers(source.base_addresses[layer], source, layer, first, last)
        for row in range(n_rows):
            with np.errstate(invalid="ignore", over="ignore"):
                values = _numbers(source.addresses[layer, row], source, layer, first, last) - base
            bad[row] += np.count_nonzero(~(np.abs(values) <= source.limits[layer]))
    return bad


def _pieces(source: Source, start: int, stop: int) -> list[tuple[int, int, int]]:
    """Return the layers that hold columns start to stop, with the first column in each and where it ends."""
    pieces = []
    for layer in range(_layer_at(source, start), _layer_at(source, stop - 1) + 1):
        begin, end = max(start, int(source.offsets[layer])), min(stop, int(source.offsets[layer + 1]))
        if begin < end:
            pieces.append((layer, begin, end))
    return pieces


def _layer_at(source: Source, column: int) -> int:
    """Return the layer that holds a column."""
    return bisect_right(source.offsets, column) - 1


def _numbers(address: Any, source: Source, layer: int, first: int, last: int) -> Array:
    """Return columns first to last of a row whose layer lies at the address."""
    dtype = source.limits.dtype
    place = int(address) + (first - int(source.offsets[layer])) * dtype.itemsize
    raw: Any = (ctypes.c_ubyte * ((last - first) * dtype.itemsize)).from_address(place % 2**64)
    return np.frombuffer(raw, dtype=dtype)
