"""Where a run stands, in one .npz file: written whole or not at all, read without pickle."""

import io
import os
import typing
import zipfile
import zlib
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from . import __version__
from .core import Aggregate, Bound
from .errors import DataError, InputError
from .scenario import Run
from .simulation import State

__all__ = ["load_checkpoint", "save_checkpoint", "write_whole"]

#: What reading a file that is no checkpoint, or half of one, can end in.
UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError)


def write_whole(path: Path, content: bytes) -> None:
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


def save_checkpoint(path: Path, run: Run, state: State, *, device: str = "cpu") -> None:
    """Write all that the run needs to go on; the rule's state must be an array or a dataclass of arrays.

    >>> import tempfile
    >>> from holdfast.lab import TASKS
    >>> run, path = Run(TASKS["phishing"]), Path(tempfile.mkdtemp()) / "run.npz"
    >>> save_checkpoint(path, run, State(3, np.ones(2, np.float32)))
    >>> load_checkpoint(path, run).round
    3
    """
    arrays = {"params": state.params, "round": np.array(state.round), "made_by": _made_by(run, device)}
    if state.previous is not None:
        arrays["previous"] = state.previous
    arrays |= {f"buffer.{name}": values for name, values in state.buffers.items()}
    for client, memory in state.memory.items():
        arrays |= {f"memory.{client}.{name}": values for name, values in memory.items()}
    arrays |= _named(run.defence.aggregate, state.rule)
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    write_whole(path, buffer.getvalue())


def load_checkpoint(path: Path, run: Run, *, device: str = "cpu") -> State:
    """Return the state that was saved; a DataError if the file is damaged or of another run or version.

    >>> from holdfast.lab import TASKS
    >>> load_checkpoint(Path("nowhere.npz"), Run(TASKS["phishing"]))
    Traceback (most recent call last):
    holdfast.errors.DataError: no checkpoint at nowhere.npz
    """
    if not path.is_file():
        raise DataError(f"no checkpoint at {path}")
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
            arrays = {name: stored[name] for name in stored.files}
        made_by, wanted = arrays.pop("made_by").tolist(), _made_by(run, device).tolist()
        if made_by == wanted:
            number, params = int(arrays.pop("round")), arrays.pop("params")
            previous = arrays.pop("previous", None)
            buffers, memory = _taken(arrays, "buffer."), _by_client(_taken(arrays, "memory."))
            rule = _restored(run.defence.aggregate, arrays)
            return State(number, params, previous, rule, buffers, memory)
    except UNREADABLE as error:
        raise DataError(f"{path} is no checkpoint, or a damaged one: {error}") from None
    raise DataError(f"{path} is the checkpoint of something else: {made_by}, not {wanted}")


def _taken(arrays: dict[str, NDArray[Any]], prefix: str) -> dict[str, NDArray[Any]]:
    """Take the arrays with this prefix out, under the rest of their names."""
    names = [name for name in arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): arrays.pop(name) for name in names}


def _by_client(arrays: dict[str, NDArray[Any]]) -> dict[int, dict[str, NDArray[Any]]]:
    memory: dict[int, dict[str, NDArray[Any]]] = {}
    for name, values in arrays.items():
        client, _, own = name.partition(".")
        memory.setdefault(int(client), {})[own] = values
    return memory


def _made_by(run: Run, device: str) -> NDArray[np.str_]:
    return np.array([run.key, __version__, device])


def _state_type(rule: Bound[Aggregate]) -> Any:
    """Return the dataclass that the rule's `state` is annotated with, if any: the file has no say in it."""
    hint = typing.get_type_hints(rule.function).get("state")
    options = [option for option in (hint, *typing.get_args(hint)) if is_dataclass(option)]
    return options[0] if options else None


def _named(rule: Bound[Aggregate], state: Any) -> dict[str, NDArray[Any]]:
    """Return a rule's state as named arrays."""
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


def _restored(rule: Bound[Aggregate], arrays: dict[str, NDArray[Any]]) -> Any:
    if not arrays or "state" in arrays:
        return arrays.get("state")
    kind, named = _state_type(rule), {name.removeprefix("state."): value for name, value in arrays.items()}
    if kind is None or set(named) != {field.name for field in fields(kind)}:
        raise ValueError(f"{rule.name} keeps no state of {', '.join(named)}")
    return kind(**named)
