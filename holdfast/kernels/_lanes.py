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

__all__ = ["add", "add_product", "lane_sum", "take", "zeros"]

Array = NDArray[Any]

if config.DISABLE_JIT:

    def zeros(like: Array) -> Array:
        """Return four empty sums, for products of numbers that fit the type of `like`."""
        return np.zeros(4)

    def take(array: Array, at: Any) -> Any:
        """Return array[at : at + 4] in float64."""
        return array[at : at + np.uint64(4)].astype(np.float64)

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

    class Lanes(types.Type):
        """Four numbers in float64, side by side in a register; as sums, of products of numbers of a type."""

        def __init__(self, of: Any) -> None:
            super().__init__(f"Lanes({of})")
            self.of = of

    @register_model(Lanes)
    class LanesModel(models.PrimitiveModel):
        """One vector, which LLVM splits where registers are shorter."""

        def __init__(self, manager: Any, lanes: Lanes) -> None:
            super().__init__(manager, lanes, FOUR)

    @intrinsic
    def zeros(context: Any, like: Any) -> Any:
        """Return four empty sums, for products of numbers that fit the type of `like`."""
        return Lanes(like.dtype)(like), lambda c, b, s, args: ir.Constant(FOUR, None)

    @intrinsic
    def take(context: Any, array: Any, at: Any) -> Any:
        """Return array[at : at + 4] in float64."""

        def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            place = builder.gep(target.make_array(array)(target, builder, args[0]).data, [args[1]])
            numbers = ir.VectorType(place.type.pointee, 4).as_pointer()
            taken = builder.load(builder.bitcast(place, numbers), align=array.dtype.bitwidth // 8)
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

        def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            a, b, c, d = (builder.extract_element(args[0], ir.IntType(32)(lane)) for lane in range(4))
            return builder.fadd(builder.fadd(a, c), builder.fadd(b, d))

        return types.float64(x), generate
