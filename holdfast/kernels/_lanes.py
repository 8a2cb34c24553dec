"""Sums over coordinates: products added up in four lanes, and the lanes in one order.

A compiler that may split a sum over lanes as it sees fit decides about its last digits. Split like this, it
has the same bits on every machine, however it was compiled, and as plain Python.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import config, types
from numba.extending import intrinsic, models, register_model
from numpy.typing import NDArray

__all__ = [
    "add",
    "add_product",
    "eight_times",
    "lane_sum",
    "put",
    "sums_at",
    "take",
    "take_pair",
    "take_twice",
    "zeros",
]

Array = NDArray[Any]

if config.DISABLE_JIT:

    def zeros(like: Array) -> Array:
        """Return four empty sums, for products of numbers that fit the type of `like`."""
        return np.zeros(4)

    def take(array: Array, at: Any) -> Any:
        """Return array[at : at + 4] in float64."""
        return array[at : at + np.uint64(4)].astype(np.float64)

    def sums_at(array: Array, at: Any, like: Array) -> Array:
        """Return eight sums, array[at : at + 8], for products of numbers that fit the type of `like`."""
        return array[at : at + np.uint64(8)]

    def put(array: Array, at: Any, x: Array) -> None:
        """Set array[at : at + 8] to the eight."""
        array[at : at + np.uint64(8)] = x

    def take_pair(array: Array, at: Any) -> Any:
        """Return array[at : at + 8], which is float64: four numbers of a row, and four of the next one."""
        return array[at : at + np.uint64(8)]

    def take_twice(array: Array, at: Any) -> Any:
        """Return array[at : at + 4], which is float64, twice."""
        return np.tile(array[at : at + np.uint64(4)], 2)

    def eight_times(x: Any) -> Any:
        """Return one number, a float64, eight times."""
        return np.full(8, x)

    def add(x: Array, y: Array) -> Any:
        """Return x + y."""
        return x + y

    def add_product(sums: Array, x: Array, y: Array) -> Any:
        """Return sums + x * y."""
        return sums + x * y

    def lane_sum(x: Array) -> Any:
        """Return the sum of the four."""
        return (x[0] + x[2]) + (x[1] + x[3])

else:
    FOUR = ir.VectorType(ir.DoubleType(), 4)
    EIGHT = ir.VectorType(ir.DoubleType(), 8)

    class Lanes(types.Type):
        """Numbers in float64, side by side in a register; as sums, of products of numbers of a type."""

        def __init__(self, of: Any, vector: Any = FOUR) -> None:
            super().__init__(f"Lanes({of}, {vector.count})")
            self.of, self.vector = of, vector

    @register_model(Lanes)
    class LanesModel(models.PrimitiveModel):
        """One vector, which LLVM splits where registers are shorter."""

        def __init__(self, manager: Any, lanes: Lanes) -> None:
            super().__init__(manager, lanes, lanes.vector)

    def _loaded(target: Any, builder: Any, array: Any, args: Any, n: int) -> Any:
        """Return the n numbers from a place in an array on."""
        place = builder.gep(target.make_array(array)(target, builder, args[0]).data, [args[1]])
        numbers = ir.VectorType(place.type.pointee, n).as_pointer()
        return builder.load(builder.bitcast(place, numbers), align=array.dtype.bitwidth // 8)

    def _summed(builder: Any, four: Any) -> Any:
        a, b, c, d = (builder.extract_element(four, ir.IntType(32)(lane)) for lane in range(4))
        return builder.fadd(builder.fadd(a, c), builder.fadd(b, d))

    def _shuffled(builder: Any, numbers: Any, lanes: Any) -> Any:
        """Return these lanes of a vector."""
        chosen = ir.Constant(ir.VectorType(ir.IntType(32), len(lanes)), list(lanes))
        return builder.shuffle_vector(numbers, ir.Constant(numbers.type, ir.Undefined), chosen)

    @intrinsic
    def zeros(context: Any, like: Any) -> Any:
        """Return four empty sums, for products of numbers that fit the type of `like`."""
        return Lanes(like.dtype)(like), lambda c, b, s, args: ir.Constant(FOUR, None)

    @intrinsic
    def take(context: Any, array: Any, at: Any) -> Any:
        """Return array[at : at + 4] in float64."""

        def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            taken = _loaded(target, builder, array, args, 4)
            return taken if taken.type == FOUR else builder.fpext(taken, FOUR)

        return Lanes(types.float64)(array, types.uint64), generate

    @intrinsic
    def add(context: Any, x: Any, y: Any) -> Any:
        """Return x + y."""
        return x(x, y), lambda c, b, s, args: b.fadd(*args)

    @intrinsic
    def add_product(context: Any, sums: Any, x: Any, y: Any) -> Any:
        """Return sums + x * y."""
        # In float64 the product of two float32 numbers is exact: rounded once or twice, the sum is the same.
        flags = ("contract",) if sums.of == types.float32 else ()

        def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.fadd(args[0], builder.fmul(args[1], args[2], flags=flags), flags=flags)

        return sums(sums, x, y), generate

    @intrinsic
    def lane_sum(context: Any, x: Any) -> Any:
        """Return the sum of the four."""

        return types.float64(x), lambda c, b, s, args: _summed(b, args[0])

    @intrinsic
    def sums_at(context: Any, array: Any, at: Any, like: Any) -> Any:
        """Return eight sums, array[at : at + 8], for products of numbers that fit the type of `like`."""
        sums = Lanes(like.dtype, EIGHT)(array, types.uint64, like)
        return sums, lambda c, b, s, args: _loaded(c, b, array, args, 8)

    @intrinsic
    def put(context: Any, array: Any, at: Any, x: Any) -> Any:
        """Set array[at : at + 8] to the eight."""

        def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = builder.gep(target.make_array(array)(target, builder, args[0]).data, [args[1]])
            builder.store(args[2], builder.bitcast(place, EIGHT.as_pointer()), align=8)
            return target.get_dummy_value()

        return types.void(array, types.uint64, x), generate

    @intrinsic
    def take_pair(context: Any, array: Any, at: Any) -> Any:
        """Return array[at : at + 8], which is float64: four numbers of a row, and four of the next one."""
        taken = Lanes(types.float64, EIGHT)(array, types.uint64)
        return taken, lambda c, b, s, args: _loaded(c, b, array, args, 8)

    @intrinsic
    def take_twice(context: Any, array: Any, at: Any) -> Any:
        """Return array[at : at + 4], which is float64, twice."""
        taken = Lanes(types.float64, EIGHT)(array, types.uint64)
        return taken, lambda c, b, s, args: _shuffled(
            b, _loaded(c, b, array, args, 4), (*range(4), *range(4))
        )

    @intrinsic
    def eight_times(context: Any, x: Any) -> Any:
        """Return one number, a float64, eight times."""

        def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            one = builder.insert_element(ir.Constant(EIGHT, ir.Undefined), args[0], ir.IntType(32)(0))
            return _shuffled(builder, one, [0] * 8)

        return Lanes(types.float64, EIGHT)(types.float64), generate
