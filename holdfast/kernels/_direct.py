"""Straight code called from Python, as long as the compiled loops are not loaded.

It does what `_columns.sweep` and `_sums.gram` do, with the same bits, for rows that are all of the type to
compute in. To load Numba takes longer than a round. Blocks that lie in one layer are read where they are;
those at the end of a layer are copied together.
"""

import ctypes
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ._forms import FLOAT32, FLOAT64, PANEL, WIDTH, Found, Plan, Source

__all__ = ["gram", "is_plain", "sweep"]

Array = NDArray[Any]

#: What the code takes is told in `_straight` and in `_products`.
COLUMNS = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, *[ctypes.c_uint64] * 12)
PRODUCTS = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_double, *[ctypes.c_uint64] * 5)
MOST_LAYERS = 500  # each costs some microseconds here, and much less in the loops


def is_plain(source: Source) -> bool:
    """Return whether all numbers are of the type to compute in, in few enough layers."""
    kind = FLOAT32 if source.limits.itemsize == 4 else FLOAT64
    are_of_kind = bool((source.kinds == kind).all() and (source.base_kinds == kind).all())
    return are_of_kind and len(source.limits) <= MOST_LAYERS


def sweep(
    source: Source, plan: Plan, code: int, start: int, stop: int, cell: int, out: Array, found: Found
) -> None:
    """Make one value of each column from start to stop, and measure the rows on the way if asked to."""
    at = start
    while at < stop:
        last, number = min(stop, (at // cell + 1) * cell), at // cell - start // cell
        layer = int(np.searchsorted(source.offsets, at, side="right")) - 1
        n_columns = (min(last, int(source.offsets[layer + 1])) - at) // WIDTH * WIDTH
        if n_columns:
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
        layer = int(np.searchsorted(source.offsets, at, side="right")) - 1
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
        addresses = np.append(addresses, np.uint64((_address_of(own) - skipped) % 2**64))
    addresses = np.ascontiguousarray(addresses)
    base = int(source.base_addresses[layer]) + skipped if source.base_kinds.size else 0
    given = (_address_of(addresses), skipped, base, n_columns, _address_of(total))
    return int(PRODUCTS(code)(float(source.limits[layer]), *given)) == 0


def _block(
    source: Source, plan: Plan, code: int, at: int, width: int, number: int, out: Array, found: Found
) -> int:
    """Work on a block that no layer holds whole; return how many columns the mask kept, -1 if one is bad."""
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
    """Let straight code work on whole blocks; return how many columns the mask kept, -1 if a value is bad."""
    size = out.itemsize
    skipped = (at - int(source.offsets[layer])) * size
    measured = 8 * number * (source.addresses.shape[1] + 1) if plan.explain else 0
    addresses = np.ascontiguousarray(source.addresses[layer])
    given = (
        _address_of(addresses),
        skipped,
        int(source.base_addresses[layer]) + skipped if source.base_kinds.size else 0,
        _address_of(out) + at * size,
        n_columns,
        plan.n_votes,
        _address_of(plan.weights),
        _address_of(found.squares) + measured,
        _address_of(found.dots) + measured,
        _address_of(found.opposed),
        _address_of(found.trimmed),
        _address_of(found.consistency),
    )
    return int(COLUMNS(code)(float(source.limits[layer]), *given))


def _together(source: Source, start: int, stop: int, width: int) -> tuple[Source, Array]:
    """Return columns start to stop, and zeros up to the width, as one layer; and what it points into."""
    n_rows, dtype, has_base = source.addresses.shape[1], source.limits.dtype, source.base_kinds.size > 0
    copies = np.zeros((n_rows + 1, width), dtype)  # the last is the base
    size, stride = dtype.itemsize, copies.strides[0]
    places = [_address_of(copies) + stride * row for row in range(n_rows + 1)]
    for layer, first, last in _pieces(source, start, stop):
        skipped, inside = (first - int(source.offsets[layer])) * size, (first - start) * size
        sent = source.addresses[layer].tolist()
        base = [int(source.base_addresses[layer])] if has_base else []
        for place, address in zip(places, sent, strict=False):
            ctypes.memmove(place + inside, (address + skipped) % 2**64, (last - first) * size)
        for address in base:
            ctypes.memmove(places[n_rows] + inside, (address + skipped) % 2**64, (last - first) * size)
    together = Source(
        np.array([places[:n_rows]], dtype=np.uint64),
        source.kinds[:1],
        np.array([0, width]),
        np.array([_limit(source, start, stop)], dtype),
        np.array(places[n_rows:] if has_base else [], dtype=np.uint64),
        source.base_kinds[:1],
    )
    return together, copies


def _limit(source: Source, start: int, stop: int) -> float:
    """Return the largest magnitude for columns start to stop: 0 if layers differ in it and a value is bad."""
    limits = source.limits[[layer for layer, _, _ in _pieces(source, start, stop)]]
    if (limits == limits[0]).all():
        return float(limits[0])
    return 0.0 if _bad_values(source, start, stop).any() else float(limits.max())


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
    first, last = np.searchsorted(source.offsets, [start, stop - 1], side="right") - 1
    pieces = []
    for layer in range(first, last + 1):
        begin, end = max(start, int(source.offsets[layer])), min(stop, int(source.offsets[layer + 1]))
        if begin < end:
            pieces.append((layer, begin, end))
    return pieces


def _numbers(address: Any, source: Source, layer: int, first: int, last: int) -> Array:
    """Return columns first to last of a row whose layer lies at the address."""
    dtype = source.limits.dtype
    place = int(address) + (first - int(source.offsets[layer])) * dtype.itemsize
    raw: Any = (ctypes.c_ubyte * ((last - first) * dtype.itemsize)).from_address(place % 2**64)
    return np.frombuffer(raw, dtype=dtype)


def _address_of(array: Array) -> int:
    return int(array.__array_interface__["data"][0])
