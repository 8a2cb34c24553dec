"""The second tier: straight code, compiled in the background for what is done often enough to be worth it.

Whoever asks never waits: the loops that take anything do the work until the code is there, with the same
bits. HOLDFAST_STRAIGHT=0 leaves all of it to them.
"""

import atexit
import logging
import os
import threading
from contextlib import suppress
from typing import Any

import llvmlite.binding as llvm
from numba import config
from numba.core.compiler_lock import global_compiler_lock
from numba.core.registry import cpu_target

from ._straight import NAME, Shape, assembly

__all__ = ["MOST_ROWS", "address_of", "compile_now", "registers_of"]

log = logging.getLogger("holdfast")

#: With more rows the code would no longer fit the caches. Never changes a result.
MOST_ROWS = 200
#: Values that the first tier works on before straight code is worth compiling: some milliseconds of work.
ENOUGH = 1 << 22

_compiling = threading.Lock()
_addresses: dict[Shape, int] = {}  # 0 while it is being compiled, and if it cannot be
_n_values: dict[Shape, int] = {}  # worked on so far without straight code
_engines: list[Any] = []  # own the code


def address_of(shape: Shape, *, n_values: int) -> int:
    """Return where the code is, for work on so many values; 0 if there is none, or not yet."""
    if shape.n_rows > MOST_ROWS or config.DISABLE_JIT or os.environ.get("HOLDFAST_STRAIGHT") == "0":
        return 0
    address = _addresses.get(shape)
    if address is None and _is_worth_it(shape, n_values):
        _addresses[shape] = 0
        with suppress(RuntimeError):  # no more threads: the process ends, or is short of them
            threading.Thread(target=_compile, args=(shape,), name="holdfast compiler", daemon=True).start()
    return address or 0


def compile_now(shape: Shape) -> int:
    """Return where the code is, compiled here if it must be."""
    with _compiling:
        if not _addresses.get(shape):
            _addresses[shape] = _compiled(shape)
        return _addresses[shape]


def registers_of(features: str) -> tuple[int, int]:
    """Return the bytes of a vector register, and how many there are, by what a processor can do.

    >>> registers_of("+sse2,+avx,+avx2"), registers_of("+avx,-avx512f")
    ((32, 16), (32, 16))
    """
    has = features.split(",")
    return (64, 32) if "+avx512f" in has else (32, 16) if "+avx" in has else (16, 16)


def _is_worth_it(shape: Shape, n_values: int) -> bool:
    _n_values[shape] = _n_values.get(shape, 0) + n_values
    return _n_values[shape] >= ENOUGH


def _compile(shape: Shape) -> None:
    try:
        compile_now(shape)
    except Exception as error:
        log.warning("no faster code for %d clients, the usual code continues: %s", shape.n_rows, error)


def _compiled(shape: Shape) -> int:
    with global_compiler_lock:  # Numba finds out about the processor when it is first asked
        triple, processor, features = cpu_target.target_context.codegen().magic_tuple()[:3]
    n_bytes, n_registers = registers_of(features)
    text = assembly(shape, n_bytes=n_bytes, n_registers=n_registers)
    target = llvm.Target.from_triple(triple)
    machine = target.create_target_machine(cpu=processor, features=features, opt=2, jit=True)
    module = llvm.parse_assembly(text, context=llvm.create_context())
    engine = llvm.create_mcjit_compiler(module, machine)
    engine.finalize_object()
    _engines.append(engine)
    return int(engine.get_function_address(NAME))


def _forget_what_was_not_finished() -> None:
    """In a child process the thread is gone; what it had not finished may be asked for again."""
    _compiling.release()
    for shape in [shape for shape, address in _addresses.items() if not address]:
        del _addresses[shape]


# LLVM must not be at work when its process ends or is copied: its locks would never open again.
atexit.register(_compiling.acquire)
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_compiling.acquire,
        after_in_parent=_compiling.release,
        after_in_child=_forget_what_was_not_finished,
    )
