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
    ("_codecs", "encode"): str.encode,  # by which old protocols write bytes
}


class _Reader(pickle.Unpickler):
    def find_class(self, module: str, name: str) -> Any:
        if (module, name) not in _NAMES:
            raise DataError(f"it asks for {module}.{name}, and nothing but arrays may be built from it")
        return _NAMES[module, name]


def unpickle_arrays(content: bytes | Path) -> Any:
    """Return what a pickle holds: arrays, in lists and dictionaries; refuse one that asks for more."""
    name = str(content) if isinstance(content, Path) else "a pickle"
    raw = content.read_bytes() if isinstance(content, Path) else content
    try:
        return _plain(_Reader(io.BytesIO(raw), encoding="bytes").load())
    except DataError as error:
        raise DataError(f"{name} was refused: {error}") from None
    except Exception as error:  # a broken pickle can raise anything
        raise DataError(f"{name} is not a pickle of arrays: {type(error).__name__}: {error}") from None


def _plain(value: Any) -> Any:
    if isinstance(value, _Array):
        return _array(*value.state)
    if isinstance(value, list):
        return [_plain(item) for item in value]
    if isinstance(value, dict):
        return {_text(key): _plain(item) for key, item in value.items()}
    if not isinstance(value, str | bytes | int | float | tuple | None):
        raise DataError(f"it holds a {type(value).__name__}, and nothing but arrays may be built from it")
    return value


def _array(_: Any, shape: tuple[int, ...], kind: _Type, in_fortran: bool, raw: bytes) -> NDArray[Any]:
    """Return the array that numpy would build from its state."""
    order = kind.state[1] if kind.state else "|"
    dtype: np.dtype[Any] = np.dtype(_text(order) + _text(kind.args[0]).lstrip("<>|="))
    if dtype.kind not in "biuf":
        raise DataError(f"only arrays of numbers are read; this one is of {dtype}")
    return np.frombuffer(raw, dtype=dtype).reshape(shape, order="F" if in_fortran else "C")


def _text(value: Any) -> Any:
    return value.decode("ascii") if isinstance(value, bytes) else value
