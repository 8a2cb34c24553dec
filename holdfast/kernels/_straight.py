"""Straight code: the trimmed mean or weighted sum of a fixed number of rows, each value in its own register.

The loops in `_columns` take any number of rows, so each comparator of the network loads two values and stores
two. Written out for one number of rows, nothing is stored between the load of a value and the mean, and rows
are read where they lie. The code is LLVM's assembly, vectors and all: nothing is left to a vectoriser, and it
compiles in a few hundredths of a second. It has the bits of `_columns`, operation by operation.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from llvmlite import ir

from ._fetching import Fetcher
from ._forms import FLOAT32, WIDTH
from ._holding import Holder
from ._measuring import ColumnRoom, Measures, RowPlaces, measure_block
from ._network import comparators, within_reach
from ._vectors import DOUBLE, FLOAT, I32, I64, Vectors, every, on_stack, repeated

__all__ = ["NAME", "SIGNATURE", "Shape", "assembly"]

NAME = "straight"
#: The largest magnitude, where the rows' addresses are, how many bytes to skip in each row, the addresses of
#: base and output from there on, how many columns (`LANES` at least; to be measured, whole blocks), the votes
#: that each needs, where the rows' weights are, and `Measures`.
SIGNATURE = ir.FunctionType(I64, [DOUBLE] + [I64] * (7 + len(Measures._fields)))
IN_ONE_GO = 16  # comparators that LLVM may put in another order. Never changes a result
MANY = 2  # times the registers: so many rows that it pays to say which are held. Never changes a result
SPARE = 6  # registers that hold no row but what is counted, and constants. Never changes a result
AHEAD = 1024  # bytes to fetch early: memory answers after about as long as two blocks take


class Shape(NamedTuple):
    """What straight code is written for."""

    n_rows: int
    n_trimmed: int
    kind: int  # of number: FLOAT32 or FLOAT64
    is_masked: bool
    has_base: bool
    explain: bool = False  # rows are measured, too
    is_sum: bool = False  # of all rows, weighted, instead of the mean of the middle ones


def assembly(shape: Shape, *, n_bytes: int, n_registers: int) -> str:
    """Return code for a processor with so many registers of so many bytes, which change no result.

    The code returns how many columns the mask kept, or -1 if it met a value beyond the largest magnitude.

    >>> median = Shape(3, 1, FLOAT32, is_masked=False, has_base=False)
    >>> assembly(median, n_bytes=32, n_registers=16).count('call nnan nsz <8 x float> @"llvm.minnum')
    3
    """
    function = ir.Function(ir.Module(), SIGNATURE, NAME)
    limit, addresses, skipped, base, out, n_columns, n_votes, weights, *found = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    code = Vectors(builder, FLOAT if shape.kind == FLOAT32 else DOUBLE, n_bytes)
    worst, n_kept = code.variable(code.bits), code.variable(code.counts)
    room = ColumnRoom.on_stack(builder, code.number) if shape.explain else None
    needed = code.splat(builder.trunc(n_votes, I32), code.counts)
    rows = builder.inttoptr(addresses, I64.as_pointer())
    shares = builder.inttoptr(weights, DOUBLE.as_pointer())
    order = within_reach(comparators(shape.n_rows, shape.n_trimmed), n_registers * 3 // 4)
    end = function.append_basic_block()
    are_many = shape.n_rows > MANY * n_registers and len(order) > 0
    go = IN_ONE_GO if shape.n_rows > n_registers else len(order) + 1
    held = on_stack(builder, ir.ArrayType(code.numbers, shape.n_rows))
    held.align = 64
    last = builder.sub(builder.mul(n_columns, I64(code.size)), I64(n_bytes))
    n_blocks = builder.udiv(builder.add(n_columns, I64(WIDTH - 1)), I64(WIDTH))
    with repeated(builder, n_blocks) as number:
        block = builder.mul(number, I64(WIDTH * code.size))
        with repeated(builder, I64(WIDTH // code.n_lanes)) as step:
            inside = builder.mul(step, I64(n_bytes))
            following = builder.add(block, inside)
            # What is left may fill no vector: the last one starts among columns that are done.
            at = builder.select(builder.icmp_unsigned("<", following, last), following, last)
            columns = Columns(code, shape, rows, builder.add(skipped, at))
            if shape.has_base:
                columns.base = code.load(builder.add(base, at))
            if shape.is_sum:
                made = columns.narrowed(columns.weighted_sum(shares))
            else:
                columns.is_fetched = are_many
                if are_many:
                    fetcher = Fetcher(code, shape.n_rows, rows, builder.add(skipped, block), step)
                    Holder(columns, order, n_registers - SPARE, held).sort(fetcher)
                else:
                    for first in range(0, len(order), go):
                        columns.sort(order[first : first + go])
                        _pause(builder, n_columns, end)
                n_again = builder.udiv(builder.sub(following, at), I64(code.size))
                made = columns.made(needed, n_kept, n_again)
            code.store(made, builder.add(out, at))
            builder.store(code.larger_bits(builder.load(worst), columns.worst), worst)
            if room is not None:
                columns.keep(room, inside, made)
        if room is not None:
            base_here = builder.add(base, block) if shape.has_base else None
            here = RowPlaces(rows, builder.add(skipped, block), base_here, shape.n_rows)
            measure_block(builder, code.number, here, room, Measures(*found))
    builder.branch(end)
    builder.position_at_end(end)
    kept = builder.zext(code.total(builder.load(n_kept)), I64) if shape.is_masked else n_columns
    is_bad = builder.icmp_unsigned(">", code.largest_bits(builder.load(worst)), code.bits_of(limit))
    builder.ret(builder.select(is_bad, I64(-1), kept))
    return str(function.module)


def _pause(builder: ir.IRBuilder, n_columns: Any, end: Any) -> None:
    """End a block of instructions, which LLVM orders anew: of many, it would spill most registers."""
    following = builder.append_basic_block()
    builder.cbranch(builder.icmp_unsigned("==", n_columns, I64(0)), end, following)  # never
    builder.position_at_end(following)


class Columns:
    """A vector of columns: their rows, each loaded when first needed, and what is counted on the way."""

    def __init__(self, code: Vectors, shape: Shape, rows: Any, skipped: Any) -> None:
        self.code, self.shape, self.rows, self.skipped = code, shape, rows, skipped
        self.base: Any = None
        self.is_fetched = False  # by a Fetcher
        self.values: list[Any] = [None] * shape.n_rows
        self.signs = every(code.counts, 0)  # the sum of signs
        self.worst = every(
            code.bits, 0
        )  # the largest magnitude, as bits: NaN and infinity are larger than any

    def row(self, number: int) -> Any:
        """Return the values in a row, which come from memory if they have not yet."""
        if self.values[number] is None:
            code, builder = self.code, self.code.builder
            address = builder.load(builder.gep(self.rows, [I64(number)]))
            place = builder.add(address, self.skipped)
            values = code.load(place)
            if not self.is_fetched:
                code.prefetch(builder.add(place, I64(AHEAD)))
            if self.base is not None:
                values = builder.fsub(values, self.base)
            if self.shape.is_masked or self.shape.explain:
                self.signs = code.add_signs(self.signs, values)
            self.worst = code.larger_bits(self.worst, code.magnitude_bits(values))
            self.values[number] = values
        return self.values[number]

    def sort(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Put the rows through a part of the network."""
        for low, high in pairs:
            self.compare(low, high)

    def compare(self, low: int, high: int) -> None:
        """Put the smaller value into one row, the larger into the other."""
        x, y = self.row(low), self.row(high)
        self.values[low], self.values[high] = self.code.smaller(x, y), self.code.larger(x, y)

    def fetch(self, number: int) -> None:
        """Ask for a row, from the second cache into the first."""
        builder = self.code.builder
        address = builder.load(builder.gep(self.rows, [I64(number)]))
        self.code.prefetch(builder.add(address, self.skipped))

    def made(self, needed: Any, n_kept: Any, n_again: Any) -> Any:
        """Return the mean in the type of the rows, 0 where the mask does not keep it; count what it keeps.

        The first columns, so many, were made and counted before.
        """
        code, builder, mean = self.code, self.code.builder, self.mean()
        if self.shape.is_masked:
            is_kept = builder.icmp_signed(">=", code.magnitudes(self.signs), needed)
            mean = builder.select(is_kept, mean, every(code.doubles, 0.0))
            again = code.splat(builder.trunc(n_again, I32), code.counts)
            lanes = ir.Constant(code.counts, list(range(code.n_lanes)))
            is_counted = builder.and_(is_kept, builder.icmp_signed(">=", lanes, again))
            builder.store(builder.sub(builder.load(n_kept), builder.sext(is_counted, code.counts)), n_kept)
        return self.narrowed(mean)

    def narrowed(self, doubles: Any) -> Any:
        """Return numbers in float64 in the type of the rows."""
        code = self.code
        return code.narrowed(code.builder.fadd(doubles, every(code.doubles, 0.0)))  # a plain zero, not -0.0

    def weighted_sum(self, weights: Any) -> Any:
        """Return the sum of all rows, each times its weight, in float64."""
        code, builder = self.code, self.code.builder
        total = every(code.doubles, 0.0)
        for number in range(self.shape.n_rows):
            weight = code.splat(builder.load(builder.gep(weights, [I64(number)])), code.doubles)
            total = builder.fadd(total, builder.fmul(weight, code.widened(self.row(number))))
        return total

    def mean(self) -> Any:
        """Return the mean of the middle rows, in float64; that of doubles is kept within their range."""
        code, n, n_trimmed = self.code, self.shape.n_rows, self.shape.n_trimmed
        everyone = [self.row(number) for number in range(n)]
        middle = everyone[n_trimmed : n - n_trimmed]
        total = every(code.doubles, 0.0)
        for values in middle:
            total = code.builder.fadd(total, code.widened(values))
        mean = code.builder.fdiv(total, every(code.doubles, float(len(middle))))
        if code.number == DOUBLE:  # the mean of float32 values cannot leave their range when rounded back
            low, high = self.range()
            mean = code.smaller(code.larger(mean, low), high)
        return mean

    def range(self) -> tuple[Any, Any]:
        """Return the smallest and the largest of the middle rows."""
        first, *others = self.values[self.shape.n_trimmed : self.shape.n_rows - self.shape.n_trimmed]
        low = high = first
        for values in others:
            low, high = self.code.smaller(low, values), self.code.larger(high, values)
        return low, high

    def keep(self, room: ColumnRoom, at: Any, made: Any) -> None:
        """Write down what rows will be measured against, `at` bytes into the block."""
        code, builder = self.code, self.code.builder
        columns = builder.udiv(at, I64(code.size))
        nowhere = every(code.numbers, 0.0)  # a sum trims nobody
        low, high = (nowhere, nowhere) if self.shape.is_sum else self.range()
        code.store(code.widened(made), builder.add(room.values, builder.mul(columns, I64(8))))
        code.store(code.as_numbers(code.sign_of(self.signs)), builder.add(room.majority, at))
        code.store(low, builder.add(room.low, at))
        code.store(high, builder.add(room.high, at))
        code.store(code.magnitudes(self.signs), builder.add(room.signs, builder.mul(columns, I64(4))))
