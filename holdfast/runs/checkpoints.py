"""The state of a run after a round, in one .npz file: written whole or not at all, read without pickle."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .._support.arrays import UNREADABLE, Arrays, read_arrays, write_arrays
from .._support.keys import key_of
from ..errors import DataError
from ..lab.scenario import Run
from ..lab.simulation import State
from ..watching.states import memory_arrays, restored_memory
from .epochs import code_epoch

__all__ = ["load_checkpoint", "save_checkpoint"]


def save_checkpoint(path: Path, run: Run, state: State, *, device: str = "cpu") -> None:
    """Write all that a run needs to be resumed; a rule's state must be an array or a dataclass of them."""
    arrays = {"params": state.params, "round": np.array(state.round), "made_by": _made_by(run, device)}
    if state.previous is not None:
        arrays["last_update"] = state.previous
    arrays |= {f"buffer.{name}": values for name, values in state.buffers.items()}
    for client, kept in state.kept.items():
        arrays |= {f"kept.{client}.{name}": values for name, values in kept.items()}
    for part, kept in state.attack.items():
        arrays |= {f"attack.{part}.{name}": values for name, values in kept.items()}
    write_arrays(path, arrays | memory_arrays(run.defence.aggregate, state.memory))


def load_checkpoint(path: Path, run: Run, *, device: str = "cpu") -> State:
    """Return the state that was saved; a DataError if it is damaged, or of another run, code or device."""
    wanted = _made_by(run, device).tolist()
    try:
        arrays = read_arrays(path)
        made_by = arrays.pop("made_by").tolist()
        if made_by == wanted:
            return State(
                int(arrays.pop("round")),
                arrays.pop("params"),
                previous=arrays.pop("last_update", None),
                buffers=_taken(arrays, "buffer."),
                kept={int(client): own for client, own in _by_part(_taken(arrays, "kept.")).items()},
                attack=_by_part(_taken(arrays, "attack.")),
                memory=restored_memory(run.defence.aggregate, arrays),  # the rest
            )
    except UNREADABLE as error:
        raise DataError(f"{path} is not a checkpoint, or a damaged one: {error}") from None
    raise DataError(f"{path} has another key, code or device: {made_by}, not {wanted}")


def _taken(arrays: Arrays, prefix: str) -> Arrays:
    """Take the arrays with this prefix out, under the rest of their names."""
    names = [name for name in arrays if name.startswith(prefix)]
    return {name.removeprefix(prefix): arrays.pop(name) for name in names}


def _by_part(arrays: Arrays) -> dict[str, Arrays]:
    """Return the arrays by the first part of their names."""
    kept: dict[str, Arrays] = {}
    for name, values in arrays.items():
        part, _, own = name.partition(".")
        kept.setdefault(part, {})[own] = values
    return kept


def _made_by(run: Run, device: str) -> NDArray[np.str_]:
    description = run.description
    return np.array([key_of(description), str(code_epoch(description)), device])
