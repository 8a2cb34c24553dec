"""Straight code: the trimmed mean of a fixed number of rows, each value of a column in its own register.

The loops in `_columns` take any number of rows, so each comparator of the network loads two values and stores
two. Written out for one number of rows, nothing is stored between the load of a value and the mean, and rows
are read where they lie. The code is LLVM's assembly, vectors and all: nothing is left to a vectoriser, and it
compiles in a few hundredths of a second. It has the bits of `_columns`, operation by operation.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

from llvmlite import ir
from numba.core import cgutils

from ._forms import FLOAT32
from ._network import comparators, within_reach
from ._vectors import DOUBLE, FLOAT, I32, I64, Vectors, every

__all__ = ["NAME", "SIGNATURE", "Shape", "assembly"]

NAME = "straight"
#: Where the rows' addresses are, how many bytes to skip in each row, the addresses of the base and of the
#: output from there on, how many columns (whole vectors), the votes a column needs, the largest magnitude.
SIGNATURE = ir.FunctionType(I64, [I64] * 6 + [DOUBLE])
AHEAD = 1024  # bytes to fetch early: memory answers after about as long as two blocks take


class Shape(NamedTuple):
    """What straight code is written for."""

    n_rows: int
    n_trimmed: int
    kind: int  # of number: FLOAT32 or FLOAT64
    is_masked: bool
    has_base: bool


def assembly(shape: Shape, *, n_bytes: int, n_registers: int) -> str:
    """Return code for a processor with so many registers of so many bytes, which change no result.

    The code returns how many columns the mask kept, or -1 if it met a value beyond the largest magnitude.

    >>> median = Shape(3, 1, FLOAT32, is_masked=False, has_base=False)
    >>> assembly(median, n_bytes=32, n_registers=16).count('call nnan nsz <8 x float> @"llvm.minnum')
    3
    """
    function = ir.Function(ir.Module(), SIGNATURE, NAME)
    addresses, skipped, base, out, n_columns, n_votes, limit = function.args
    builder = ir.IRBuilder(function.append_basic_block())
    code = Vectors(builder, FLOAT if shape.kind == FLOAT32 else DOUBLE, n_bytes)
    order = within_reach(comparators(shape.n_rows, shape.n_trimmed), n_registers * 3 // 4)
    worst, n_kept = code.variable(code.bits), code.variable(code.counts)
    needed = code.splat(builder.trunc(n_votes, I32), code.counts)
    rows = builder.inttoptr(addresses, I64.as_pointer())
    with cgutils.for_range(builder, builder.udiv(n_columns, I64(code.n_lanes))) as loop:
        at = builder.mul(loop.index, I64(n_bytes))
        columns = Columns(code, shape, rows, builder.add(skipped, at))
        if shape.has_base:
            columns.base = code.load(builder.add(base, at))
        columns.sort(order)
        mean = columns.mean()
        if shape.is_masked:
            is_kept = builder.icmp_signed(">=", code.magnitudes(columns.signs), needed)
            mean = builder.select(is_kept, mean, every(code.doubles, 0.0))
            builder.store(builder.sub(builder.load(n_kept), builder.sext(is_kept, code.counts)), n_kept)
        mean = builder.fadd(mean, every(code.doubles, 0.0))  # a plain zero, not -0.0
        code.store(code.narrowed(mean), builder.add(out, at))
        builder.store(code.larger_bits(builder.load(worst), columns.worst), worst)
    largest = code.bits_of(limit)
    is_bad = builder.icmp_unsigned(">", code.largest_bits(builder.load(worst)), largest)
    kept = builder.zext(code.total(builder.load(n_kept)), I64) if shape.is_masked else n_columns
    builder.ret(builder.select(is_bad, I64(-1), kept))
    return str(function.module)


class Columns:
    """A vector of columns: their rows, each loaded when first needed, and what is counted on the way."""

    def __init__(self, code: Vectors, shape: Shape, rows: Any, skipped: Any) -> None:
        self.code, self.shape, self.rows, self.skipped = code, shape, rows, skipped
        self.base: Any = None
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
            code.prefetch(builder.add(place, I64(AHEAD)))
            if self.base is not None:
                values = builder.fsub(values, self.base)
            if self.shape.is_masked:
                self.signs = code.add_signs(self.signs, values)
            self.worst = code.larger_bits(self.worst, code.magnitude_bits(values))
            self.values[number] = values
        return self.values[number]

    def sort(self, pairs: Iterable[tuple[int, int]]) -> None:
        """Put the rows through the network."""
        for low, high in pairs:
            x, y = self.row(low), self.row(high)
            self.values[low], self.values[high] = self.code.smaller(x, y), self.code.larger(x, y)

    def mean(self) -> Any:
        """Return the mean of the middle rows, in float64; that of doubles is kept within their range."""
        code, n, n_trimmed = self.code, self.shape.n_rows, self.shape.n_trimmed
        everyone = [self.row(number) for number in range(n)]
        middle = everyone[n_trimmed : n - n_trimmed]
        total = every(code.doubles, 0.0)
        for values in middle:
            total = code.builder.fadd(total, code.widened(values))
        mean = code.builder.fdiv(total, every(code.doubles, float(len(middle))))
        if code.number == DOUBLE:
            low = high = middle[0]
            for values in middle[1:]:
                low, high = code.smaller(low, values), code.larger(high, values)
            mean = code.smaller(code.larger(mean, low), high)
        return mean
