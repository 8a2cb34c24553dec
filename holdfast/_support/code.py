"""What the code of a function says: its source, and the names that it uses and changes."""

import ast
import dis
import inspect
import linecache
import textwrap
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from types import CodeType
from typing import Any

__all__ = ["Place", "Uses", "code_text", "uses"]

Place = tuple[str, ...]  # a variable, or a variable and an attribute of it

LOADS = ("LOAD_GLOBAL", "LOAD_NAME", "LOAD_FROM_DICT_OR_GLOBALS")
#: Methods after which a list, dict, set, deque, array or file is another than before.
CHANGES = frozenset({
    "add", "append", "appendleft", "clear", "discard", "extend", "extendleft", "fill", "insert", "pop",
    "popitem", "popleft", "remove", "reverse", "setdefault", "sort", "update", "write", "writelines",
})  # fmt: skip


@dataclass(frozen=True)
class Uses:
    """The names in a function's code, those of functions within it included."""

    loaded: tuple[str, ...]  # global variables, sorted
    named: frozenset[str]  # all of them, and attributes
    imported: tuple[
        tuple[str, tuple[str, ...], int], ...
    ]  # a module, names in it, how many packages up it is
    assigned: frozenset[Place]  # where it puts something: a counter, a cache
    called: frozenset[Place]  # what it calls `append`, `update` and the like of: a log


@lru_cache(maxsize=4096)
def uses(code: CodeType, filename: str) -> Uses:
    """Return the names that a function uses.

    >>> uses((lambda x: SIZE * x.mean()).__code__, "nowhere").loaded
    ('SIZE',)
    """
    parts = list(_nested(code))
    steps = [step for part in parts for step in dis.get_instructions(part) if step.opname != "EXTENDED_ARG"]
    return Uses(
        tuple(sorted({step.argval for step in steps if step.opname in LOADS})),
        frozenset(name for part in parts for name in part.co_names),
        tuple(
            (step.argval, names.argval or (), level.argval)
            for level, names, step in zip(steps, steps[1:], steps[2:], strict=False)
            if step.opname == "IMPORT_NAME"
        ),
        *_changed(_source(code, filename) or ""),
    )


@lru_cache(maxsize=4096)
def code_text(code: CodeType, filename: str) -> str:
    """Return the source of a function or, where that is not at hand, its instructions.

    The name of the file is there for the cache: code objects are equal whatever their comments say.

    >>> code_text((lambda x: x).__code__, "nowhere") == code_text((lambda x: -x).__code__, "nowhere")
    False
    """
    source = _source(code, filename)
    if source is not None and code.co_name != "<lambda>":  # two of them may stand in one line
        return source
    table = code.co_exceptiontable.hex()
    return f"{source or ''} {code.co_code.hex()} {table} {code.co_names} {_constant(code.co_consts)}"


def _nested(code: CodeType) -> Iterator[CodeType]:
    """Yield a code object and all within it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _nested(constant)


def _source(code: CodeType, filename: str) -> str | None:
    """Return the source of a function; None if there is none, or the file was edited after it was loaded."""
    try:
        source = textwrap.dedent(inspect.getsource(code))
        return source if code in _codes("".join(linecache.getlines(filename))) else None
    except (OSError, TypeError, SyntaxError, ValueError):
        return None


@lru_cache(maxsize=16)
def _codes(text: str) -> frozenset[CodeType]:
    """Return all code objects of a file, each of which equals only itself in the same line."""
    return frozenset(_nested(compile(text, "", "exec", dont_inherit=True)))


def _constant(value: Any) -> str:
    """Return a constant of a code object as text, the same in every process."""
    if isinstance(value, CodeType):
        return code_text(value, "")
    if isinstance(value, tuple | frozenset):
        parts = [_constant(item) for item in value]
        return f"{type(value).__name__}({', '.join(parts if isinstance(value, tuple) else sorted(parts))})"
    return repr(value)


def _changed(source: str) -> tuple[frozenset[Place], frozenset[Place]]:
    """Return what a function assigns to, and calls changing methods of; nothing of half a statement."""
    assigned: list[Place] = []
    called: list[Place] = []
    try:
        nodes = list(ast.walk(ast.parse(source)))
    except SyntaxError:
        nodes = []
    for node in nodes:
        if isinstance(node, ast.Global | ast.Nonlocal):
            assigned += [(name,) for name in node.names]
        elif isinstance(node, ast.Subscript | ast.Attribute) and not isinstance(node.ctx, ast.Load):
            assigned += _places(node)
        elif (
            isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGES
        ):
            called += _places(node.func.value)
    return frozenset(assigned), frozenset(called)


def _places(node: ast.expr) -> list[Place]:
    """Return (cache,) and (cache, sizes) for `cache.sizes[key]`; nothing if no variable is at the start."""
    attributes: list[str] = []
    while isinstance(node, ast.Subscript | ast.Attribute):
        attributes += [node.attr] if isinstance(node, ast.Attribute) else []
        node = node.value
    return [(node.id,), (node.id, *attributes[-1:])] if isinstance(node, ast.Name) else []
