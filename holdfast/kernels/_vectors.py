"""Vector instructions, written down one by one in LLVM's assembly."""

from typing import Any

from llvmlite import ir
from numba.core import cgutils

__all__ = ["DOUBLE", "FLOAT", "I32", "I64", "Vectors", "every"]

I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
FLOAT, DOUBLE = ir.FloatType(), ir.DoubleType()
SHORT = {FLOAT: "f32", DOUBLE: "f64", I32: "i32", I64: "i64"}


class Vectors:
    """Writes instructions on vectors of numbers of one type, which have so many bytes."""

    def __init__(self, builder: ir.IRBuilder, number: Any, n_bytes: int) -> None:
        self.builder, self.number = builder, number
        self.size = 4 if number == FLOAT else 8
        self.n_lanes = n_lanes = n_bytes // self.size
        self.numbers = ir.VectorType(number, n_lanes)
        self.bits = ir.VectorType(ir.IntType(8 * self.size), n_lanes)
        self.counts = ir.VectorType(I32, n_lanes)
        self.doubles = ir.VectorType(DOUBLE, n_lanes)

    def load(self, address: Any) -> Any:
        """Return the numbers at an address."""
        place = self.builder.inttoptr(address, self.numbers.as_pointer())
        return self.builder.load(place, align=self.size)

    def store(self, numbers: Any, address: Any) -> None:
        """Write the numbers to an address."""
        place = self.builder.inttoptr(address, self.numbers.as_pointer())
        self.builder.store(numbers, place, align=self.size)

    def prefetch(self, address: Any) -> None:
        """Ask for the memory at an address."""
        kind = ir.FunctionType(ir.VoidType(), [I8.as_pointer(), I32, I32, I32])
        fetch = self.builder.module.declare_intrinsic("llvm.prefetch", [I8.as_pointer()], kind)
        place = self.builder.inttoptr(address, I8.as_pointer())
        self.builder.call(fetch, [place, I32(0), I32(3), I32(1)])

    def variable(self, kind: Any) -> Any:
        """Return a place for one vector, which holds zeros."""
        return cgutils.alloca_once_value(self.builder, ir.Constant(kind, None))

    def splat(self, scalar: Any, kind: Any) -> Any:
        """Return a vector with a number that is known when the code runs in each lane."""
        empty = ir.Constant(kind, ir.Undefined)
        one = self.builder.insert_element(empty, scalar, I32(0))
        return self.builder.shuffle_vector(one, empty, every(ir.VectorType(I32, self.n_lanes), 0))

    def smaller(self, x: Any, y: Any) -> Any:
        """Return the minima, as `_machine.smaller` does."""
        return self._call("llvm.minnum", x.type, x, y, fastmath=("nnan", "nsz"))

    def larger(self, x: Any, y: Any) -> Any:
        """Return the maxima, as `_machine.larger` does."""
        return self._call("llvm.maxnum", x.type, x, y, fastmath=("nnan", "nsz"))

    def larger_bits(self, x: Any, y: Any) -> Any:
        """Return the maxima of whole numbers without a sign."""
        return self._call("llvm.umax", x.type, x, y)

    def largest_bits(self, x: Any) -> Any:
        """Return the largest of all lanes, whole numbers without a sign."""
        return self._call("llvm.vector.reduce.umax", x.type.element, x)

    def total(self, counts: Any) -> Any:
        """Return the sum of all lanes, whole numbers."""
        return self._call("llvm.vector.reduce.add", counts.type.element, counts)

    def magnitude_bits(self, numbers: Any) -> Any:
        """Return the bits of the numbers without their sign: as whole numbers in the order of magnitudes."""
        bits = self.builder.bitcast(numbers, self.bits)
        return self.builder.and_(bits, every(self.bits, (1 << (8 * self.size - 1)) - 1))

    def bits_of(self, double: Any) -> Any:
        """Return the bits of one number, given in float64."""
        number = double if self.number == DOUBLE else self.builder.fptrunc(double, FLOAT)
        return self.builder.bitcast(number, self.bits.element)

    def add_signs(self, counts: Any, numbers: Any) -> Any:
        """Return the counts, plus 1 where a number is above zero, minus 1 where it is below."""
        builder, zeros = self.builder, every(self.numbers, 0.0)
        above, below = (builder.fcmp_ordered(sign, numbers, zeros) for sign in "><")
        counts = builder.sub(counts, builder.sext(above, self.counts))
        return builder.add(counts, builder.sext(below, self.counts))

    def magnitudes(self, counts: Any) -> Any:
        """Return the counts without their sign."""
        zeros = every(self.counts, 0)
        is_negative = self.builder.icmp_signed("<", counts, zeros)
        return self.builder.select(is_negative, self.builder.sub(zeros, counts), counts)

    def widened(self, numbers: Any) -> Any:
        """Return the numbers in float64."""
        return numbers if self.number == DOUBLE else self.builder.fpext(numbers, self.doubles)

    def narrowed(self, doubles: Any) -> Any:
        """Return numbers in float64 in the type of the rows."""
        return doubles if self.number == DOUBLE else self.builder.fptrunc(doubles, self.numbers)

    def _call(self, name: str, result: Any, *vectors: Any, fastmath: tuple[str, ...] = ()) -> Any:
        module, kind = self.builder.module, vectors[0].type
        full = f"{name}.v{kind.count}{SHORT[kind.element]}"
        function = module.globals.get(full) or ir.Function(
            module, ir.FunctionType(result, [vector.type for vector in vectors]), full
        )
        return self.builder.call(function, vectors, fastmath=fastmath)


def every(kind: Any, number: float) -> Any:
    """Return a vector with a known number in each lane."""
    return ir.Constant(kind, [number] * kind.count)
