"""Where a run stands, in one .npz file: written whole or not at all, read without pickle."""

from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from .._support.arrays import UNREADABLE, read_arrays, write_arrays
from ..aggregators.states import restored_state, state_arrays
from ..errors import DataError
from ..lab.scenario import Run
from ..lab.simulation import State

__all__ = ["load_checkpoint", "save_checkpoint"]


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
    write_arrays(path, arrays | state_arrays(run.defence.aggregate, state.rule))


def load_checkpoint(path: Path, run: Run, *, device: str = "cpu") -> State:
    """Return the state that was saved; a DataError if the file is damaged or of another run or version.

    >>> from holdfast.lab import TASKS
    >>> load_checkpoint(Path("nowhere.npz"), Run(TASKS["phishing"]))
    Traceback (most recent call last):
    holdfast.errors.DataError: no checkpoint at nowhere.npz
    """
    try:
        arrays = read_arrays(path)
        made_by, wanted = arrays.pop("made_by").tolist(), _made_by(run, device).tolist()
        if made_by == wanted:
            number, params = int(arrays.pop("round")), arrays.pop("params")
            previous = arrays.pop("previous", None)
            buffers, memory = _taken(arrays, "buffer."), _by_client(_taken(arrays, "memory."))
            rule = restored_state(run.defence.aggregate, arrays)
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
