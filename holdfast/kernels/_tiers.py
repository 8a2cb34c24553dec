"""When straight code is compiled: at once, or in the background for what is done often enough to be worth it.

Where the loops that take anything are loaded, nobody waits: they do the work until the code is there, with
the same bits. Where they are not, straight code is compiled sooner than Numba is imported.
HOLDFAST_STRAIGHT=0 leaves all of it to the loops.
"""

import atexit
import logging
import os
import threading
from contextlib import suppress
from functools import cache
from typing import Any

import llvmlite.binding as llvm

from ._products import Products
from ._products import assembly as assembly_of_products
from ._straight import NAME, Shape, assembly

__all__ = ["MOST_ROWS", "address_of", "compile_now", "is_off", "registers_of"]

log = logging.getLogger("holdfast")

#: With more rows the code would no longer fit the caches. Never changes a result.
MOST_ROWS = 200
#: Values that the first tier works on before straight code is worth compiling: some milliseconds of work.
ENOUGH = 1 << 22
#: With more rows it takes longer to compile than to load the loops.
MOST_AT_ONCE = 100

_compiling = threading.Lock()
_addresses: dict[Shape | Products, int] = {}  # 0 while it is being compiled, and if it cannot be
_n_values: dict[Shape | Products, int] = {}  # worked on so far without straight code
_engines: list[Any] = []  # own the code


def address_of(shape: Shape | Products, *, n_values: int, at_once: bool = False) -> int:
    """Return where the code is, for work on so many values; 0 if there is none, or not yet."""
    if shape.n_rows > MOST_ROWS or is_off():
        return 0
    address = _addresses.get(shape)
    if address is None and at_once and shape.n_rows <= MOST_AT_ONCE:
        _compile(shape)
        return _addresses.setdefault(shape, 0)
    if address is None and _is_worth_it(shape, n_values):
        _addresses[shape] = 0
        with suppress(RuntimeError):  # no more threads: the process ends, or is short of them
            threading.Thread(target=_compile, args=(shape,), name="holdfast compiler", daemon=True).start()
    return address or 0


def is_off() -> bool:
    """Return whether all is left to the loops: asked for, or because nothing is to be compiled."""
    return os.environ.get("HOLDFAST_STRAIGHT") == "0" or os.environ.get("NUMBA_DISABLE_JIT", "0") != "0"


def compile_now(shape: Shape | Products) -> int:
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


def _is_worth_it(shape: Shape | Products, n_values: int) -> bool:
    _n_values[shape] = _n_values.get(shape, 0) + n_values
    return _n_values[shape] >= ENOUGH


def _compile(shape: Shape | Products) -> None:
    try:
        compile_now(shape)
    except Exception as error:
        log.warning("no faster code for %d clients, the usual code continues: %s", shape.n_rows, error)


@cache
def _processor() -> tuple[str, str, str]:
    """Return what LLVM calls this machine: its triple, its processor, and what that can do."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    try:
        features = llvm.get_host_cpu_features().flatten()
    except RuntimeError:  # LLVM does not know
        features = ""
    return llvm.get_process_triple(), llvm.get_host_cpu_name(), features


def _compiled(shape: Shape | Products) -> int:
    triple, processor, features = _processor()
    n_bytes, n_registers = registers_of(features)
    write: Any = assembly if isinstance(shape, Shape) else assembly_of_products
    text = write(shape, n_bytes=n_bytes, n_registers=n_registers)
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
