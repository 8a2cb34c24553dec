"""What a function does, as a digest: the same in every process, another as soon as its source changes."""

import hashlib
import inspect
import textwrap
from functools import cache
from types import CodeType
from typing import Any

__all__ = ["source_digest"]


@cache
def source_digest(function: Any) -> str:
    """Return a digest of a function's source and of what it closes over, but not of functions it calls.

    >>> source_digest(lambda x: x + 1) == source_digest(lambda x: x + 2)
    False
    """
    code = getattr(function, "__code__", None)
    try:
        text = textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):  # typed into an interpreter, or compiled
        text = _code_text(code) if code else repr(function)
    if code and code.co_name == "<lambda>":  # two of them may stand in one line
        text += _code_text(code)
    for cell in getattr(function, "__closure__", None) or ():
        inner = cell.cell_contents
        text += f"\n{source_digest(inner) if inspect.isroutine(inner) else repr(inner)}"
    return hashlib.sha256(text.encode()).hexdigest()[:8]


def _code_text(code: CodeType) -> str:
    constants = [_code_text(item) if isinstance(item, CodeType) else repr(item) for item in code.co_consts]
    return f"{code.co_code.hex()} {constants} {code.co_names}"
