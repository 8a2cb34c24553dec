"""Public data files that are pickles, read by an unpickler that can build nothing but arrays of numbers.

The names that a pickled array asks for are answered with stand-ins that only keep what they are given; numpy
sees the bytes, a type of number and a shape. Any other name is refused, so that a file can run nothing.
"""

import io
import pickle
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import DataError

__all__ = ["unpickle_arrays"]


class _Type:
    """Stands in for numpy.dtype."""

    def __init__(self, code: str | bytes, *_: Any) -> None:
        self.code = code.decode("ascii") if isinstance(code, bytes) else code
        self.order = "|"

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        order = state[1]
        self.order = order.decode("ascii") if isinstance(order, bytes) else order

    def made(self) -> np.dtype[Any]:
        made = np.dtype(self.order + self.code.lstrip("<>|="))
        if made.kind not in "biuf":
            raise DataError(f"only arrays of numbers are read; this one is of {made}")
        return made


class _Array:
    """Stands in for numpy.ndarray as it is rebuilt."""

    def __init__(self, *_: Any) -> None:
        self.state: tuple[Any, ...] | None = None

    def __setstate__(self, state: tuple[Any, ...]) -> None:
        self.state = state

    def made(self) -> NDArray[Any]:
        if self.state is None:
            raise DataError("an array without content")
        _, shape, kind, fortran, raw = self.state
        values = np.frombuffer(raw, dtype=kind.made())
        return values.reshape(shape, order="F" if fortran else "C")


def _encoded(text: str, encoding: str) -> bytes:
    """Stand in for _codecs.encode, by which old protocols write bytes."""
    return text.encode(encoding)


_NAMES: dict[tuple[str, str], Any] = {
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Type,
    ("_codecs", "encode"): _encoded,
    **{(f"numpy.{core}.multiarray", "_reconstruct"): _Array for core in ("core", "_core")},
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _NAMES:
            raise DataError(f"it asks for {module}.{name}, and nothing but arrays may be built from it")
        return _NAMES[module, name]


def unpickle_arrays(content: bytes | Path) -> Any:
    """Return what a pickle holds: arrays, in lists and dictionaries; refuse one that asks for anything else.

    >>> import pickle
    >>> unpickle_arrays(pickle.dumps({"a": np.arange(3)}))
    {'a': array([0, 1, 2])}
    >>> unpickle_arrays(pickle.dumps(print))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    holdfast.errors.DataError: a pickle was refused: it asks for builtins.print, ...
    """
    name = str(content) if isinstance(content, Path) else "a pickle"
    raw = content.read_bytes() if isinstance(content, Path) else content
    try:
        return _plain(_Reader(io.BytesIO(raw), encoding="bytes").load())
    except DataError as error:
        raise DataError(f"{name} was refused: {error}") from None
    except Exception as error:  # a broken pickle can raise anything
        raise DataError(f"{name} is no pickle of arrays: {type(error).__name__}: {error}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, _Array):
        return value.made()
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {key.decode() if isinstance(key, bytes) else key: _plain(item) for key, item in value.items()}
    if not isinstance(value, str | bytes | int | float | tuple | None):
        raise DataError(f"it holds a {type(value).__name__}, and nothing but arrays may be built from it")
    return value
