"""Public data files that are pickles, read by an unpickler that can build nothing but arrays of numbers.

The names that a pickled array asks for are answered with stand-ins that only keep what they are given; numpy
sees the bytes, a type of number and a shape. Any other name is refused, so that a file can run nothing; and
what would make a small file large is refused before it is read.
"""

import io
import pickle
import pickletools
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.printable import printable
from ...errors import DataError

__all__ = ["unpickle_arrays"]


class _StandIn:
    """Keeps what it is called with, and the state that it is given."""

    state: tuple[Any, ...] = ()

    def __init__(self, *args: Any) -> None:
        self.args = args

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state


class _Array(_StandIn):
    """Stands in for numpy.ndarray."""


class _Type(_StandIn):
    """Stands in for numpy.dtype."""


_NAMES: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Type,
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
}

#: Of the opcodes that make something, those whose product may be used again: text, names and stand-ins.
_REUSABLE = ("STRING", "UNICODE", "BYTES", "GLOBAL", "REDUCE")
MOST_TUPLES = 20_000  # deeply nested ones take the stack of whoever looks at them


class _Reader(pickle.Unpickler):
    """Reads a pickle, and makes of it no more bytes than twice its own: as bytes, and as arrays of them."""

    def __init__(self, raw: bytes) -> None:
        super().__init__(io.BytesIO(raw), encoding="bytes")
        self.n_left = 2 * len(raw)

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) == ("_codecs", "encode"):  # by which old protocols write bytes
            return self._encoded
        if (module, name) not in _NAMES:
            asked = printable(f"{module}.{name}")
            raise DataError(f"it asks for {asked}, and nothing but arrays may be built from it")
        return _NAMES[module, name]

    def _encoded(self, text: str, codec: str) -> bytes:
        if codec != "latin1":
            raise DataError(f"it writes bytes in {printable(codec)}, and pickles do it in latin1")
        self._spend(len(text))
        return text.encode("latin1")

    def _spend(self, n_bytes: int) -> None:
        self.n_left -= n_bytes
        if self.n_left < 0:
            raise DataError("it becomes more than twice its own bytes")

    def plain(self, value: Any) -> Any:
        """Return what was read with arrays for their stand-ins."""
        if isinstance(value, _Array):
            array = _array(*value.state)
            self._spend(array.nbytes)
            return array
        if isinstance(value, list | tuple):
            return type(value)(map(self.plain, value))
        if isinstance(value, dict):
            return {_text(key): self.plain(item) for key, item in value.items()}
        if not isinstance(value, str | bytes | int | float | None):
            raise DataError(f"it holds a {type(value).__name__}, and nothing but arrays may be built from it")
        return value


def unpickle_arrays(content: bytes | Path) -> Any:
    """Return what a pickle holds: arrays, in lists and dictionaries; refuse one that asks for more."""
    name = str(content) if isinstance(content, Path) else "a pickle"
    raw = content.read_bytes() if isinstance(content, Path) else content
    try:
        _check_opcodes(raw)
        reader = _Reader(raw)
        return reader.plain(reader.load())
    except DataError as error:
        raise DataError(f"{name} was refused: {error}") from None
    except Exception as error:  # a broken pickle can raise anything
        said = f"{type(error).__name__}: {printable(error)}"
        raise DataError(f"{name} is not a pickle of arrays: {said}") from None


def _check_opcodes(raw: bytes) -> None:
    """Refuse a pickle by which a few bytes become many: lists of lists that are one, a memo with gaps."""
    made_by: dict[Any, str] = {}  # [number in the memo] opcode
    before, n_tuples = "", 0
    for code, argument, _ in pickletools.genops(raw):
        name = code.name
        if name == "MEMOIZE" or name.endswith("PUT"):
            number = len(made_by) if argument is None else argument
            if number > len(made_by) + 1:  # Python 2 begins with 1
                raise DataError("it numbers what it remembers with gaps")
            made_by[number] = before
        elif name == "DUP" or (name.endswith("GET") and not made_by.get(argument, "").endswith(_REUSABLE)):
            raise DataError("it uses a list, a tuple or a dictionary twice")
        elif name != "FRAME":
            before, n_tuples = name, n_tuples + ("TUPLE" in name)
        if n_tuples > MOST_TUPLES:
            raise DataError(f"it holds more than {MOST_TUPLES:,} tuples")


def _array(_: Any, shape: tuple[int, ...], kind: _Type, in_fortran: bool, raw: bytes) -> NDArray[Any]:
    """Return the array that numpy would build from its state."""
    order = kind.state[1] if kind.state else "|"
    dtype: np.dtype[Any] = np.dtype(_text(order) + _text(kind.args[0]).lstrip("<>|="))
    if dtype.kind not in "biuf":
        raise DataError(f"only arrays of numbers are read; this one is of {dtype}")
    return np.frombuffer(raw, dtype=dtype).reshape(shape, order="F" if in_fortran else "C")


def _text(value: Any) -> Any:
    return value.decode("ascii") if isinstance(value, bytes) else value
