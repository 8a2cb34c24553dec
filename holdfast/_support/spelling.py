"""The value of a setting as it is written, the same in every process."""

import functools
import inspect
from typing import Any

import numpy as np

from .sources import source_digest

__all__ = ["spelt"]


def spelt(value: Any) -> str:
    """Return a setting as it is written; a function is known by its name and source.

    >>> spelt(frozenset("ba")), spelt((np.int64(1),))
    ("frozenset({'a', 'b'})", '(1,)')
    """
    if hasattr(value, "identity"):  # a function with settings of its own
        return str(value.identity)
    if inspect.isroutine(value) or isinstance(value, type | functools.partial):
        return f"{getattr(value, '__name__', 'partial')}#{source_digest(value)}"
    if isinstance(value, frozenset):
        return f"frozenset({{{', '.join(sorted(map(spelt, value)))}}})"
    if isinstance(value, tuple):
        return f"({', '.join(map(spelt, value))}{',' if len(value) == 1 else ''})"
    return repr(value.item() if isinstance(value, np.generic) else value)
