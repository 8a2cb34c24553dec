"""What compiled code needs from below: numbers at an address, memory asked for early, bits, vector minima.

With NUMBA_DISABLE_JIT=1 all of it, and the loops, run as plain Python: for debuggers and coverage reports.
"""

import ctypes
import os
from collections.abc import Callable
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, config, njit, types
from numba.core import cgutils
from numba.extending import intrinsic, register_jitable
from numpy.typing import NDArray

from ._cache import keep_on_disk
from ._straight import SIGNATURE

__all__ = [
    "as_float",
    "compiled",
    "inlined",
    "inner",
    "larger",
    "prefetch",
    "read_at",
    "smaller",
    "straight",
    "view",
]

Array = NDArray[Any]


def compiled(function: Callable[..., Any]) -> Any:
    """Return the function compiled on first use, or as it was left on disk by an earlier process."""
    loop = njit(nogil=True, error_model="numpy", no_cfunc_wrapper=True)(function)
    if not config.DISABLE_JIT:
        keep_on_disk(loop)
    return loop


#: What only compiled code calls; a door to Python would double the time it takes to compile.
INNER = {"nogil": True, "error_model": "numpy", "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
inner = njit(**INNER)
#: The same, always built into its caller.
inlined = njit(**INNER, forceinline=True)

if config.DISABLE_JIT:

    def view(address: int, count: int, dtype: Any) -> Array:
        """Return the numbers at an address."""
        raw = (ctypes.c_ubyte * (count * np.dtype(dtype).itemsize)).from_address(int(address))
        return np.frombuffer(raw, dtype=dtype)

    def read_at(file: Any, address: Any, n_bytes: Any, at: Any) -> Any:
        """Read bytes of a file into memory; return how many, -1 if that fails."""
        try:
            return os.preadv(int(file), [(ctypes.c_ubyte * int(n_bytes)).from_address(int(address))], int(at))
        except OSError:
            return -1

    def prefetch(address: int) -> None:
        """Do nothing: only compiled code can ask for memory early."""

    def as_float(bits: Any) -> Any:
        """Return 32 bits read as a float."""
        return np.uint32(bits).view(np.float32)

    def straight(address: Any, limit: float, given: Any) -> int:
        """Raise: straight code is compiled code."""
        raise NotImplementedError

    smaller: Callable[..., Any] = min
    larger: Callable[..., Any] = max

else:

    @intrinsic
    def pointer(context: Any, address: Any) -> Any:
        """Return an address as a pointer."""
        return types.voidptr(types.uint64), lambda c, b, s, args: b.inttoptr(args[0], cgutils.voidptr_t)

    @register_jitable
    def view(address: int, count: int, dtype: Any) -> Any:
        """Return the numbers at an address."""
        return carray(pointer(address), count, dtype)

    # Of the C library, by its name: an address would not be the same in the next process.
    READ = types.int64(types.int32, types.uint64, types.uint64, types.int64)
    read_at = types.ExternalFunction("pread", READ)

    @intrinsic
    def prefetch(context: Any, address: Any) -> Any:
        """Ask for the memory at an address, into the second cache: the first is for the block at work."""

        def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            i32, place = ir.IntType(32), builder.inttoptr(args[0], cgutils.voidptr_t)
            kind = ir.FunctionType(ir.VoidType(), [place.type, i32, i32, i32])
            fetch = builder.module.declare_intrinsic("llvm.prefetch", [place.type], kind)
            builder.call(fetch, [place, i32(0), i32(2), i32(1)])
            return target.get_dummy_value()

        return types.void(types.uint64), generate

    @intrinsic
    def as_float(context: Any, bits: Any) -> Any:
        """Return 32 bits read as a float."""
        return types.float32(types.uint32), lambda c, b, s, args: b.bitcast(args[0], ir.FloatType())

    @intrinsic
    def straight(context: Any, address: Any, limit: Any, given: Any) -> Any:
        """Run the straight code at an address; what it takes is told in `_straight`."""

        def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
            code = builder.inttoptr(args[0], SIGNATURE.as_pointer())
            return builder.call(code, [args[1], *cgutils.unpack_tuple(builder, args[2])])

        return types.int64(types.uint64, types.float64, given), generate

    def _extreme(name: str) -> Any:
        # Python's min compiles to branches. This is one vector instruction; its promise that there is no NaN
        # concerns rows whose result is thrown away, because load() counts their NaNs.
        @intrinsic
        def extreme(context: Any, x: Any, y: Any) -> Any:
            def generate(target: Any, builder: Any, signature: Any, args: Any) -> Any:
                kind = ir.FunctionType(args[0].type, [args[0].type] * 2)
                chosen = builder.module.declare_intrinsic(name, [args[0].type], kind)
                return builder.call(chosen, args, fastmath=("nnan", "nsz"))

            return x(x, x), generate

        return extreme

    smaller = _extreme("llvm.minnum")
    larger = _extreme("llvm.maxnum")
