"""What a function does, as a digest: the same in every process, another as soon as what it does changes.

It covers the function's source and all of the user's own code and data that it uses: the functions and
classes that it calls, constants, what it closes over. Code of the standard library, of installed packages and
of this one counts by name. Between two calls only sources are remembered: a variable may change at any time.
"""

import hashlib
import os
import re
import sys
from argparse import Namespace
from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import fields, is_dataclass
from datetime import date, time, timedelta, tzinfo
from decimal import Decimal
from fractions import Fraction
from functools import cached_property, partial, partialmethod
from importlib.util import find_spec
from pathlib import PurePath
from types import CellType, FunctionType, MappingProxyType, MethodType, ModuleType, SimpleNamespace
from typing import Any

import numpy as np

from .code import Place, Uses, code_text, uses

__all__ = ["source_digest"]

#: Values that are printed alike in every process.
PLAIN = (
    str, bytes, int, float, complex, type(None), type(...), range, slice, date, time, timedelta, tzinfo,
    Decimal, Fraction, PurePath, re.Pattern, np.dtype, np.generic,
)  # fmt: skip
#: Values that methods such as `append` change.
CONTAINERS = (list, deque, dict, set, bytearray, np.ndarray)
#: What stands around functions and values, and where it has them.
WRAPPERS: Mapping[Any, tuple[str, ...]] = {
    partial: ("func", "args", "keywords"),
    partialmethod: ("func", "args", "keywords"),
    MethodType: ("__func__", "__self__"),
    staticmethod: ("__func__",),
    classmethod: ("__func__",),
    property: ("fget", "fset", "fdel"),
    cached_property: ("func",),
    SimpleNamespace: ("__dict__",),
    Namespace: ("__dict__",),
}
#: What a class holds that changes nothing it does.
SILENT = frozenset({
    "__annotate__", "__annotate_func__", "__annotations__", "__annotations_cache__", "__dataclass_fields__",
    "__dict__", "__doc__", "__firstlineno__", "__module__", "__qualname__", "__static_attributes__",
    "__weakref__",
})  # fmt: skip
STANDARD_LIBRARY = os.path.join(os.path.dirname(os.__file__), "")
THIS_PACKAGE = __name__.partition(".")[0]


def source_digest(function: Any) -> str:
    """Return a digest of a function or class, and of all of the user's own code and data that it uses.

    Variables that the function changes itself, such as a cache or a log, count by their type.

    >>> source_digest(lambda x: x + 1) == source_digest(lambda x: x + 2)
    False
    """
    while True:
        n_modules, reader = len(sys.modules), _Reader()
        if isinstance(function, FunctionType):  # counts by its source, whoever wrote it
            reader.put(code_text(function.__code__, function.__code__.co_filename))
        reader.read(function)
        digest = reader.digest()
        if len(sys.modules) == n_modules:  # else it led to imports: what was read before may hold more now
            return digest


class _Reader:
    """Reads values into a hash, then the functions, classes and objects that they led to, each once."""

    def __init__(self) -> None:
        self.hash = hashlib.sha256()
        self.numbers: dict[int, int] = {}  # [id] the place in the list
        self.found: list[tuple[Any, str]] = []  # with the folder; also keeps others from getting an id again
        self.modules: set[tuple[int, Uses]] = set()  # of one's own, by the names that were looked for
        self.folder = ""  # of the file that is read: what lies there lies in another folder elsewhere

    def digest(self) -> str:
        """Return the digest of what was read, after reading all that this leads to."""
        for value, folder in self.found:  # which grows meanwhile
            self.folder = folder
            self.read_inside(value)
        return self.hash.hexdigest()[:8]

    def put(self, *parts: Any) -> None:
        """Take texts into the hash, or bytes."""
        for part in parts:
            is_bytes = isinstance(part, bytes | memoryview)
            content = part if is_bytes else str(part).encode(errors="surrogatepass")
            self.hash.update(b"%d:" % len(content))
            self.hash.update(content)

    def read(self, value: Any) -> None:
        """Take a value into the hash: at once what never changes, else its number, to be read later."""
        if isinstance(value, PLAIN):
            text = str(value) if isinstance(value, str | PurePath) else repr(value)
            self.put(type(value).__name__, text.replace(self.folder, ".") if self.folder else text)
        elif isinstance(value, tuple | frozenset):  # equal ones may be one object here and two there
            self.read_items(value)
        else:
            if id(value) not in self.numbers:
                self.numbers[id(value)] = len(self.found)
                self.found.append((value, self.folder))
            self.put("number", self.numbers[id(value)])

    def read_all(self, values: Iterable[Any]) -> None:
        """Take one value after the other into the hash."""
        for value in values:
            self.read(value)

    def read_items(self, value: Any) -> None:
        """Take the items of a sequence, a mapping or a set into the hash."""
        self.read(type(value))
        self.put(len(value))
        if isinstance(value, set | frozenset):
            self.put(*sorted(source_digest(item) for item in value))
        elif isinstance(value, dict | MappingProxyType):
            self.read_all(part for item in value.items() for part in item)
        else:
            self.read_all(value)

    def read_inside(self, value: Any) -> None:
        """Take what a function, class or object holds and uses into the hash."""
        parts = next((names for kind, names in WRAPPERS.items() if isinstance(value, kind)), None)
        if isinstance(value, FunctionType):
            self.read_function(value)
        elif isinstance(value, type):
            self.read_class(value)
        elif isinstance(value, ModuleType):
            self.put("module", value.__name__)
        elif isinstance(value, list | deque | dict | MappingProxyType | set):
            self.read_items(value)
        elif parts:
            self.read(type(value))
            self.read_all(getattr(value, name) for name in parts)
        elif is_dataclass(value):
            self.read(type(value))
            self.read_all(getattr(value, field.name, None) for field in fields(value))
        elif not self.read_array(value):
            self.read_object(value)

    def read_array(self, value: Any) -> bool:
        """Take what is an array, or can be one, into the hash; return whether it was."""
        try:
            array = np.asarray(value) if hasattr(value, "__array__") else None
        except Exception:  # a tensor on another device, say
            return False
        if array is None:
            return False
        self.read(type(value))
        self.put(array.dtype.str, array.shape)
        if array.dtype.hasobject:
            self.read(array.tolist())
        elif array.nbytes:
            self.put(np.ascontiguousarray(array).reshape(-1).view(np.uint8).data)
        return True

    def read_function(self, function: FunctionType) -> None:
        """Take what a function says and uses into the hash; of other people's, the name and what it wraps."""
        code, space = function.__code__, function.__globals__
        closed = dict(zip(code.co_freevars, map(_content, function.__closure__ or ()), strict=True))
        if not _is_own(space):
            self.put("function", str(space.get("__name__")).partition(".")[0], code.co_qualname)
            self.read_all((closed, getattr(function, "__wrapped__", None)))
            return
        used = uses(code, code.co_filename)
        self.folder = os.path.dirname(space.get("__file__") or "").rstrip(os.sep)
        self.put("function", code_text(code, code.co_filename))
        self.read_all((function.__defaults__, function.__kwdefaults__))
        self.read_variables(closed, closed, used)
        self.read_variables(used.loaded, space, used)
        for name, names, level in used.imported:
            self.read_variable((name,), _imported(name, names, level, space), used)

    def read_variables(self, names: Iterable[str], space: Mapping[str, Any], used: Uses) -> None:
        """Take variables into the hash."""
        for name in names:
            if name in space and not (name.startswith("__") and name.endswith("__")):
                self.put(name)
                self.read_variable((name,), space[name], used)

    def read_variable(self, place: Place, value: Any, used: Uses) -> None:
        """Take what a variable holds into the hash; of a module of one's own, all that has a name there.

        What the function changes itself is not what determines it: of that, the type.
        """
        if isinstance(value, ModuleType) and _is_own(vars(value)):
            if (id(value), used) not in self.modules:
                self.modules.add((id(value), used))
                for name in sorted(used.named & vars(value).keys()):
                    self.put(name)
                    self.read_variable((place[-1], name), vars(value)[name], used)
        elif place in used.assigned or (place in used.called and isinstance(value, CONTAINERS)):
            self.read(type(value))
        else:
            self.read(value)

    def read_class(self, kind: type) -> None:
        """Take a class into the hash, with all it holds; of other people's, the name."""
        if not _is_own_class(kind):
            self.put("class", _name(kind))
            return
        self.put("class", kind.__qualname__)
        self.read_all(kind.__bases__)
        for name, value in sorted(vars(kind).items()):
            if name not in SILENT:
                self.put(name)
                self.read(value)

    def read_object(self, value: Any) -> None:
        """Take an object of one's own class into the hash; of another, its type, name and what it wraps."""
        self.read(type(value))
        if _is_own_class(type(value)):
            self.read(object.__getstate__(value))
        elif "__wrapped__" in getattr(value, "__dict__", {}):
            self.read(value.__wrapped__)
        elif callable(value):
            self.put(_name(value))


def _is_own_class(kind: type) -> bool:
    module = sys.modules.get(kind.__module__)
    return module is None or _is_own(vars(module))


def _is_own(space: Mapping[str, Any]) -> bool:
    """Return whether a module with these variables is the user's own, and not of a library."""
    top, file = str(space.get("__name__")).partition(".")[0], space.get("__file__")
    if top in (THIS_PACKAGE, "__main__") or file is None:  # a worker of Ray has a main file of Ray's
        return top not in (THIS_PACKAGE, *sys.stdlib_module_names)
    return not (file.startswith(STANDARD_LIBRARY) or "site-packages" in file or "dist-packages" in file)


def _name(value: Any) -> str:
    """Return the name of a function or class with that of its package, not of its module: it may move."""
    package = str(getattr(value, "__module__", None)).partition(".")[0]
    return f"{package}.{getattr(value, '__qualname__', None) or getattr(value, '__name__', None)}"


def _content(cell: CellType) -> Any:
    try:
        return cell.cell_contents
    except ValueError:  # not filled yet
        return None


def _imported(name: str, names: tuple[str, ...], level: int, space: Mapping[str, Any]) -> Any:
    """Return the module that an import within a function gives, if it is the user's own; None otherwise."""
    try:
        if level == 0:
            spec = find_spec(name.partition(".")[0])
            places = [] if spec is None else [spec.origin, *(spec.submodule_search_locations or ())]
            file = next(filter(None, places), None)
            if file is None or not _is_own({"__name__": name, "__file__": file}):
                return None
        return __import__(name, dict(space), None, names, level)
    except Exception:  # the function will say what is wrong when it runs
        return None
