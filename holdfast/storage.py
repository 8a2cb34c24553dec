"""Named arrays in one .npz file: written whole or not at all, read without pickle."""

import io
import os
import typing
import zipfile
import zlib
from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .core import Aggregate, Bound
from .errors import DataError, InputError

__all__ = ["UNREADABLE", "read_arrays", "restored_state", "state_arrays", "write_arrays", "write_whole"]

Arrays = dict[str, NDArray[Any]]

#: What reading a file that is no checkpoint, or half of one, can end in.
UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError)


def write_whole(path: Path, content: bytes | memoryview) -> None:
    """Write a file that has either its old content or all of its new one, whatever happens meanwhile.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "some" / "note"
    >>> write_whole(path, b"done")
    >>> path.read_bytes()
    b'done'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    with open(partial, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(partial, path)
    if hasattr(os, "O_DIRECTORY"):  # the new name, too, is on the disk before anything else is written
        folder = os.open(path.parent, os.O_DIRECTORY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the arrays under their names, all or nothing.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "some.npz"
    >>> write_arrays(path, {"x": np.ones(2)})
    >>> read_arrays(path)
    {'x': array([1., 1.])}
    """
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    write_whole(path, buffer.getbuffer())


def read_arrays(path: Path) -> Arrays:
    """Return what was written; anything else that the file may be ends in one of UNREADABLE."""
    if not path.is_file():
        raise DataError(f"no checkpoint at {path}")
    with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def state_arrays(rule: Bound[Aggregate], state: Any) -> Arrays:
    """Return a rule's state as named arrays: it must be one, or a dataclass of them.

    >>> from holdfast import bind, sparsefed
    >>> state_arrays(bind(sparsefed), None)
    {}
    """
    if state is None:
        return {}
    if isinstance(state, np.ndarray):
        arrays = {"state": state}
    elif _state_type(rule) is type(state):
        arrays = {f"state.{field.name}": np.asarray(getattr(state, field.name)) for field in fields(state)}
    else:
        arrays = {"state": np.array(state, dtype=object)}
    if any(array.dtype.hasobject for array in arrays.values()):
        raise InputError(
            f"the state of {rule.name} cannot be stored: it must be an array, or a dataclass of arrays that"
            f" the rule's parameter `state` is annotated with; got {type(state).__name__}"
        )
    return arrays


def restored_state(rule: Bound[Aggregate], arrays: Arrays) -> Any:
    """Return the state that `state_arrays` took apart; a ValueError if it is not one of this rule's.

    >>> from holdfast import SparseFedState, bind, sparsefed
    >>> state = SparseFedState.start(2, np.dtype(np.float32))
    >>> restored_state(bind(sparsefed), state_arrays(bind(sparsefed), state)).error
    array([0., 0.], dtype=float32)
    """
    if not arrays or "state" in arrays:
        return arrays.get("state")
    kind, named = _state_type(rule), {name.removeprefix("state."): value for name, value in arrays.items()}
    if kind is None or set(named) != {field.name for field in fields(kind)}:
        raise ValueError(f"{rule.name} keeps no state of {', '.join(named)}")
    return kind(**named)


def _state_type(rule: Bound[Aggregate]) -> Any:
    """Return the dataclass that the rule's `state` is annotated with, if any: the file has no say in it."""
    hint = typing.get_type_hints(rule.function).get("state")
    options = [option for option in (hint, *typing.get_args(hint)) if is_dataclass(option)]
    return options[0] if options else None
