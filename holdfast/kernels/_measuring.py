"""Straight code that measures every row of a block against its result, while it is in the nearest cache.

It has the bits of `explain` in `_columns`: products are added up in the same lanes, sixteen side by side.
"""

from typing import Any, NamedTuple

from llvmlite import ir

from ._forms import WIDTH
from ._vectors import DOUBLE, FLOAT, I32, I64, Vectors, every, on_stack, repeated

__all__ = ["ColumnRoom", "Measures", "RowPlaces", "measure_block"]

LANES = 16  # numbers whose products are added up side by side: four times the four lanes of `_lanes`


class ColumnRoom(NamedTuple):
    """Addresses of what was made of a block's columns, one entry per column."""

    values: Any  # in float64
    majority: Any  # the sign that most rows have, as a number
    low: Any  # the range of what was averaged
    high: Any
    signs: Any  # |sum of signs|

    @classmethod
    def on_stack(cls, builder: ir.IRBuilder, number: Any) -> "ColumnRoom":
        """Return room in the function's own memory."""
        places = []
        for kind in (DOUBLE, number, number, number, I32):
            place = on_stack(builder, ir.ArrayType(kind, WIDTH))
            place.align = 64
            places.append(builder.ptrtoint(place, I64))
        return cls(*places)


class Measures(NamedTuple):
    """Addresses of what is counted and added up: as in `Found`."""

    squares: Any
    dots: Any
    opposed: Any
    trimmed: Any
    consistency: Any


class RowPlaces(NamedTuple):
    """Where rows lie: a pointer to their addresses, the bytes to skip, the base's address there or None."""

    addresses: Any
    skipped: Any
    base: Any
    n: int


def measure_block(
    builder: ir.IRBuilder, number: Any, rows: RowPlaces, room: ColumnRoom, found: Measures
) -> None:
    """Measure the rows, less the base, in the block of columns that lies there."""
    code = Vectors(builder, number, LANES * (4 if number == FLOAT else 8))
    _measure_result(builder, rows.n, room, found)
    with repeated(builder, I64(rows.n)) as row:
        address = builder.add(builder.load(builder.gep(rows.addresses, [row])), rows.skipped)
        squares = dots = every(code.doubles, 0.0)
        n_opposed = n_trimmed = I64(0)
        for first in range(0, WIDTH, LANES):
            at = I64(first * code.size)
            x = code.load(builder.add(address, at))
            if rows.base is not None:
                x = builder.fsub(x, code.load(builder.add(rows.base, at)))
            wide = code.widened(x)
            squares = code.add_product(squares, wide, wide)
            made = code.load_doubles(builder.add(room.values, I64(first * 8)))
            dots = code.add_product(dots, wide, made)
            majority, low, high = (code.load(builder.add(place, at)) for place in room[1:4])
            against = builder.fcmp_ordered("<", builder.fmul(x, majority), every(code.numbers, 0.0))
            outside = builder.or_(builder.fcmp_ordered("<", x, low), builder.fcmp_ordered(">", x, high))
            n_opposed = builder.add(n_opposed, code.count(against))
            n_trimmed = builder.add(n_trimmed, code.count(outside))
        place = builder.mul(row, I64(8))
        code.add_double(code.lane_sum(squares), builder.add(found.squares, place))
        code.add_double(code.lane_sum(dots), builder.add(found.dots, place))
        code.add_whole(n_opposed, builder.add(found.opposed, place))
        code.add_whole(n_trimmed, builder.add(found.trimmed, place))


def _measure_result(builder: ir.IRBuilder, n_rows: int, room: ColumnRoom, found: Measures) -> None:
    """Add the result's own squares, and count the columns by how many rows agree on a sign."""
    code = Vectors(builder, DOUBLE, 4 * 8)
    squares = every(code.doubles, 0.0)
    for first in range(0, WIDTH, 4):
        made = code.load_doubles(builder.add(room.values, I64(first * 8)))
        squares = code.add_product(squares, made, made)
    code.add_double(code.lane_sum(squares), builder.add(found.squares, I64(8 * n_rows)))
    signs = builder.inttoptr(room.signs, I32.as_pointer())
    with repeated(builder, I64(WIDTH // 4)) as four:
        for turn in range(4):
            column = builder.add(builder.mul(four, I64(4)), I64(turn))
            votes = builder.zext(builder.load(builder.gep(signs, [column])), I64)
            counter = builder.add(votes, I64(turn * (n_rows + 1)))
            code.add_whole(I64(1), builder.add(found.consistency, builder.mul(counter, I64(8))))
