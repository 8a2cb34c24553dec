"""Straight code for the dot products of all pairs of a fixed number of rows: a matrix product.

It has the bits of `gram` in `_sums`: products are added up in float64, in the same four lanes, panel by
panel. A vector holds the lanes of two rows. Rows are converted once, a part of a panel at a time, so that
all that is multiplied stays in the nearest cache.
"""

from typing import Any, NamedTuple

from llvmlite import ir

from ._forms import FLOAT32, PANEL
from ._vectors import DOUBLE, FLOAT, I32, I64, Vectors, every, folded, on_stack, repeated

__all__ = ["MOST_ROWS", "SIGNATURE", "Products", "assembly", "tiles"]

#: The largest magnitude, where the rows' addresses are, how many bytes to skip in each row, the address of
#: the base there, how many columns (whole panels), and where the sums of products are.
SIGNATURE = ir.FunctionType(I64, [DOUBLE] + [I64] * 5)
#: With more rows they no longer fit the nearest cache.
MOST_ROWS = 64
PART = 128  # columns that are converted, and multiplied, at a time. Never changes a result
AHEAD = 1024  # bytes to fetch early, into the second cache: the first is for the panel

FOUR, EIGHT = ir.VectorType(DOUBLE, 4), ir.VectorType(DOUBLE, 8)


class Products(NamedTuple):
    """What the code is written for."""

    n_rows: int
    kind: int  # of number: FLOAT32 or FLOAT64
    has_base: bool
    has_beside: bool  # the last row is the server's own, of which no base is taken

    @property
    def n_pairs(self) -> int:
        """Pairs of rows; an odd number of rows is filled up with zeros."""
        return -(-self.n_rows // 2)


class Tile(NamedTuple):
    """Products that are added up in registers: of pairs of rows with rows."""

    pairs: range
    others: range


def tiles(n_rows: int, most_pairs: int) -> list[Tile]:
    """Return tiles that hold every product of two rows, with few that are not needed.

    >>> tiles(4, 2)
    [Tile(pairs=range(0, 2), others=range(0, 4))]
    >>> sum(len(tile.pairs) * 2 * len(tile.others) for tile in tiles(20, 4))  # of 210
    240
    """
    found, n_pairs = [], -(-n_rows // 2)
    for first in range(0, n_pairs, most_pairs):
        for other in range(2 * first, n_rows, 4):
            last = min(first + most_pairs, n_pairs, other // 2 + 2)  # those after are with earlier ones
            found.append(Tile(range(first, last), range(other, min(other + 4, n_rows))))
    return found


def assembly(shape: Products, *, n_bytes: int, n_registers: int) -> str:
    """Return code for a processor with so many registers of so many bytes, which change no result.

    The code returns 0, or -1 if it met a value beyond the largest magnitude.

    >>> "fmul contract" in assembly(Products(3, FLOAT32, False, False), n_bytes=32, n_registers=16)
    True
    """
    function = ir.Function(ir.Module(), SIGNATURE, "straight")
    limit, addresses, skipped, base, n_columns, total = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    number = FLOAT if shape.kind == FLOAT32 else DOUBLE
    code = Vectors(builder, number, max(n_bytes, 32))  # four numbers at least
    grid = tiles(shape.n_rows, 4 if n_bytes == 64 else 1)
    writer = Writer(code, shape, grid, builder.inttoptr(addresses, I64.as_pointer()))
    with repeated(builder, builder.udiv(n_columns, I64(PANEL))) as panel:
        with repeated(builder, I64(PANEL // PART)) as part:
            columns = builder.add(builder.mul(panel, I64(PANEL)), builder.mul(part, I64(PART)))
            inside = builder.mul(columns, I64(code.size))
            writer.convert(builder.add(skipped, inside), builder.add(base, inside))
            for tile in range(len(grid)):
                writer.multiply(tile, builder.add(skipped, inside))
        writer.add_up(total)
    worst = code.largest_bits(builder.load(writer.worst))
    is_bad = builder.icmp_unsigned(">", worst, code.bits_of(limit))
    builder.ret(builder.select(is_bad, I64(-1), I64(0)))
    return str(function.module)


class Writer:
    """Writes the steps of the code, which share a part of a panel in float64 and the sums of all tiles."""

    def __init__(self, code: Vectors, shape: Products, grid: list[Tile], rows: Any) -> None:
        self.code, self.shape, self.grid, self.rows = code, shape, grid, rows
        builder = code.builder
        sizes = [len(tile.pairs) * len(tile.others) for tile in grid]
        self.firsts = [sum(sizes[:number]) for number in range(len(sizes))]
        self.panel = self._room(shape.n_pairs * PART // 4)
        self.sums = self._room(sum(sizes))
        self.worst = code.variable(code.bits)
        for room, n_vectors in ((self.sums, sum(sizes)), (self.panel, shape.n_pairs * PART // 4)):
            with repeated(
                builder, I64(n_vectors)
            ) as number:  # the panel, too: a pair may lack its second row
                self._store(every(EIGHT, 0.0), room, number)

    def convert(self, skipped: Any, base: Any) -> None:
        """Fill the part of the panel: four numbers of a row, then four of the next one, less the base."""
        code, builder = self.code, self.code.builder
        largest = [builder.load(self.worst)]
        for row in range(self.shape.n_rows):
            is_own = self.shape.has_beside and row == self.shape.n_rows - 1
            less = base if self.shape.has_base and not is_own else None
            convert = self._conversion(row, self._start(row, skipped), less, is_inspected=not is_own)
            largest = folded(builder, I64(PART // code.n_lanes), largest, convert)
        builder.store(*largest, self.worst)

    def _conversion(self, row: int, start: Any, less: Any, *, is_inspected: bool) -> Any:
        """Return the step that converts a vector's worth of a row, and finds its largest magnitude."""
        code, builder = self.code, self.code.builder
        few, n_fours = ir.VectorType(code.number, 4), code.n_lanes // 4

        def step(turn: Any, worst: list[Any]) -> list[Any]:
            number = builder.mul(turn, I64(n_fours))
            for four in range(n_fours):  # loaded apart: to take a vector apart takes longer
                at = builder.mul(builder.add(number, I64(four)), I64(4 * code.size))
                values = self._taken(start, less, at, few)
                wide = builder.fpext(values, FOUR) if code.number == FLOAT else values
                into = builder.add(number, I64(row // 2 * PART // 4 + four))
                builder.store(wide, self._half(into, row), align=32)
            if not is_inspected:
                return worst
            at = builder.mul(turn, I64(code.n_lanes * code.size))
            values = self._taken(start, less, at, code.numbers)
            return [code.larger_bits(worst[0], code.magnitude_bits(values))]

        return step

    def multiply(self, number: int, skipped: Any) -> None:
        """Add a tile's products over the part of the panel to its sums; fetch some rows of the next ones."""
        tile, first, builder = self.grid[number], self.firsts[number], self.code.builder
        size = len(tile.pairs) * len(tile.others)
        before = [self._load(self.sums, I64(first + k)) for k in range(size)]

        fetched = [self._start(row, skipped) for row in range(number, self.shape.n_rows, len(self.grid))]

        def step(four: Any, sums: list[Any]) -> list[Any]:
            for start in fetched:
                ahead = builder.add(builder.mul(four, I64(4 * self.code.size)), I64(AHEAD))
                self.code.prefetch(builder.add(start, ahead), locality=2)
            others = [self._twice(row, four) for row in tile.others]
            added = []
            for k, pair in enumerate(tile.pairs):
                x = self._load(self.panel, builder.add(four, I64(pair * PART // 4)))
                for m, y in enumerate(others):
                    added.append(self.code.add_product(sums[k * len(others) + m], x, y))
            return added

        for k, sums in enumerate(folded(builder, I64(PART // 4), before, step)):
            self._store(sums, self.sums, I64(first + k))

    def add_up(self, total: Any) -> None:
        """Add the lanes of all sums to the products, and clear them."""
        builder, n_padded = self.code.builder, -(-self.shape.n_rows // 4) * 4
        held = [(pair, other) for tile in self.grid for pair in tile.pairs for other in tile.others]
        places = [8 * (2 * pair * n_padded + other) for pair, other in held]
        table = ir.GlobalVariable(builder.module, ir.ArrayType(I64, len(places)), "places")
        table.initializer, table.global_constant = ir.Constant(table.value_type, places), True
        with repeated(builder, I64(len(places))) as number:
            lanes = self._load(self.sums, number)
            place = builder.add(total, builder.load(builder.gep(table, [I64(0), number])))
            for half in range(2):
                chosen = ir.Constant(ir.VectorType(I32, 4), list(range(4 * half, 4 * half + 4)))
                four = builder.shuffle_vector(lanes, every(EIGHT, 0.0), chosen)
                at = builder.add(place, I64(8 * half * n_padded))
                self.code.add_double(self.code.lane_sum(four), at)
            self._store(every(EIGHT, 0.0), self.sums, number)

    def _room(self, n_vectors: int) -> Any:
        room = on_stack(self.code.builder, ir.ArrayType(EIGHT, n_vectors))
        room.align = 64
        return self.code.builder.bitcast(room, EIGHT.as_pointer())

    def _load(self, room: Any, number: Any) -> Any:
        return self.code.builder.load(self.code.builder.gep(room, [number]), align=64)

    def _store(self, eight: Any, room: Any, number: Any) -> None:
        self.code.builder.store(eight, self.code.builder.gep(room, [number]), align=64)

    def _start(self, row: int, skipped: Any) -> Any:
        builder = self.code.builder
        return builder.add(builder.load(builder.gep(self.rows, [I64(row)])), skipped)

    def _taken(self, start: Any, less: Any, at: Any, kind: Any) -> Any:
        """Return numbers of a row, `at` bytes from its start, less those there in the base."""
        builder = self.code.builder
        values, *below = (
            builder.load(builder.inttoptr(builder.add(place, at), kind.as_pointer()), align=self.code.size)
            for place in (start, less)
            if place is not None
        )
        return builder.fsub(values, *below) if below else values

    def _half(self, number: Any, row: int) -> Any:
        builder = self.code.builder
        place = builder.bitcast(builder.gep(self.panel, [number]), FOUR.as_pointer())
        return builder.gep(place, [I64(row % 2)])

    def _twice(self, row: int, four: Any) -> Any:
        """Return four numbers of a row, twice."""
        builder = self.code.builder
        place = self._half(builder.add(four, I64(row // 2 * PART // 4)), row)
        chosen = ir.Constant(ir.VectorType(I32, 8), [*range(4), *range(4)])
        return builder.shuffle_vector(builder.load(place, align=32), ir.Constant(FOUR, ir.Undefined), chosen)
