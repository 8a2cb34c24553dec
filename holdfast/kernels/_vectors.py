"""Vector instructions, written down one by one in LLVM's assembly, without Numba: it takes long to import."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from llvmlite import ir

__all__ = ["DOUBLE", "FLOAT", "I32", "I64", "Vectors", "every", "folded", "on_stack", "repeated"]

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

    def load_doubles(self, address: Any) -> Any:
        """Return numbers in float64 at an address."""
        return self.builder.load(self.builder.inttoptr(address, self.doubles.as_pointer()), align=8)

    def store(self, vector: Any, address: Any) -> None:
        """Write a vector to an address."""
        place = self.builder.inttoptr(address, vector.type.as_pointer())
        self.builder.store(vector, place, align=4 if vector.type.element in (FLOAT, I32) else 8)

    def prefetch(self, address: Any, locality: int = 3) -> None:
        """Ask for the memory at an address, into the first cache (3) or the second (2)."""
        kind = ir.FunctionType(ir.VoidType(), [I8.as_pointer(), I32, I32, I32])
        fetch = self.builder.module.declare_intrinsic("llvm.prefetch", [I8.as_pointer()], kind)
        place = self.builder.inttoptr(address, I8.as_pointer())
        self.builder.call(fetch, [place, I32(0), I32(locality), I32(1)])

    def variable(self, kind: Any) -> Any:
        """Return a place for one vector, which holds zeros."""
        place = on_stack(self.builder, kind)
        self.builder.store(ir.Constant(kind, None), place)
        return place

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
        counts = builder.select(above, builder.add(counts, every(self.counts, 1)), counts)
        return builder.select(below, builder.sub(counts, every(self.counts, 1)), counts)

    def magnitudes(self, counts: Any) -> Any:
        """Return the counts without their sign."""
        zeros = every(self.counts, 0)
        is_negative = self.builder.icmp_signed("<", counts, zeros)
        return self.builder.select(is_negative, self.builder.sub(zeros, counts), counts)

    def sign_of(self, counts: Any) -> Any:
        """Return 1, 0 or -1."""
        builder, zeros = self.builder, every(self.counts, 0)
        above, below = (builder.sext(builder.icmp_signed(sign, counts, zeros), self.counts) for sign in "><")
        return builder.sub(below, above)

    def as_numbers(self, counts: Any) -> Any:
        """Return whole numbers in the type of the rows."""
        return self.builder.sitofp(counts, self.numbers)

    def add_product(self, sums: Any, x: Any, y: Any) -> Any:
        """Return sums + x * y, all in float64, rounded as `_lanes.add_product` rounds."""
        # The product of two float32 numbers is exact: rounded once or twice, the sum is the same.
        flags = ("contract",) if self.number == FLOAT else ()
        return self.builder.fadd(sums, self.builder.fmul(x, y, flags=flags), flags=flags)

    def lane_sum(self, sums: Any) -> Any:
        """Return the sum of four or four times four lanes, added in the order of `_sums.measure`."""
        builder = self.builder
        fours = [self._part(sums, first) for first in range(0, sums.type.count, 4)]
        if len(fours) == 4:
            fours = [builder.fadd(builder.fadd(fours[0], fours[1]), builder.fadd(fours[2], fours[3]))]
        a, b, c, d = (builder.extract_element(fours[0], I32(lane)) for lane in range(4))
        return builder.fadd(builder.fadd(a, c), builder.fadd(b, d))

    def count(self, is_so: Any) -> Any:
        """Return how many lanes are true."""
        bits = self.builder.bitcast(is_so, ir.IntType(self.n_lanes))
        return self.builder.zext(self.builder.ctpop(bits), I64)

    def add_double(self, number: Any, address: Any) -> None:
        """Add a number to the float64 at an address."""
        place = self.builder.inttoptr(address, DOUBLE.as_pointer())
        self.builder.store(self.builder.fadd(self.builder.load(place), number), place)

    def add_whole(self, number: Any, address: Any) -> None:
        """Add a whole number to the one of 64 bits at an address."""
        place = self.builder.inttoptr(address, I64.as_pointer())
        self.builder.store(self.builder.add(self.builder.load(place), number), place)

    def widened(self, numbers: Any) -> Any:
        """Return the numbers in float64."""
        return numbers if self.number == DOUBLE else self.builder.fpext(numbers, self.doubles)

    def narrowed(self, doubles: Any) -> Any:
        """Return numbers in float64 in the type of the rows."""
        return doubles if self.number == DOUBLE else self.builder.fptrunc(doubles, self.numbers)

    def _part(self, vector: Any, first: int) -> Any:
        lanes = ir.Constant(ir.VectorType(I32, 4), list(range(first, first + 4)))
        return self.builder.shuffle_vector(vector, ir.Constant(vector.type, ir.Undefined), lanes)

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


def on_stack(builder: ir.IRBuilder, kind: Any) -> Any:
    """Return a place in the function's own memory, taken once however often the code there is repeated."""
    with builder.goto_entry_block():
        return builder.alloca(kind)


@contextmanager
def repeated(builder: ir.IRBuilder, n_times: Any) -> Iterator[Any]:
    """Repeat what is written inside so often; it is given how often it was done before."""
    before = builder.basic_block
    test, inside, after = (builder.append_basic_block() for _ in range(3))
    builder.branch(test)
    builder.position_at_end(test)
    turn = builder.phi(n_times.type)
    turn.add_incoming(n_times.type(0), before)
    builder.cbranch(builder.icmp_unsigned("<", turn, n_times), inside, after)
    builder.position_at_end(inside)
    yield turn
    turn.add_incoming(builder.add(turn, n_times.type(1)), builder.basic_block)
    builder.branch(test)
    builder.position_at_end(after)


def folded(
    builder: ir.IRBuilder, n_times: Any, values: list[Any], step: Callable[[Any, list[Any]], list[Any]]
) -> list[Any]:
    """Return what comes of values if a step makes new ones of them so often, once at least."""
    before = builder.basic_block
    inside, after = (builder.append_basic_block() for _ in range(2))
    builder.branch(inside)
    builder.position_at_end(inside)
    phis = [builder.phi(value.type) for value in [n_times, *values]]
    turn, made = phis[0], step(phis[0], phis[1:])
    following = builder.add(turn, n_times.type(1))
    for phi, first, last in zip(phis, [n_times.type(0), *values], [following, *made], strict=True):
        phi.add_incoming(first, before)
        phi.add_incoming(last, builder.basic_block)
    builder.cbranch(builder.icmp_unsigned("<", following, n_times), inside, after)
    builder.position_at_end(after)
    return made
