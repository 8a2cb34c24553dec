"""Where a training stands after a round, in one file: the model, and what rule and strategy remember."""

import logging
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord
from flwr.serverapp.strategy import Strategy
from numpy.typing import NDArray

from .._support.arrays import UNREADABLE, read_arrays, write_arrays
from ..aggregators.states import memory_arrays, restored_memory
from ..core import Memory, Rule
from ..errors import DataError
from .decoding import encoded, numbers_in

__all__ = ["Standing", "load_progress", "restore_inner", "save_progress"]

Array = NDArray[Any]

INNER = "inner."
#: Set anew by an inner strategy when a round starts.
PASSING = {"current_arrays"}

log = logging.getLogger("holdfast")


@dataclass(frozen=True, eq=False)
class Standing:
    """What is known after a round."""

    round: int
    arrays: ArrayRecord
    memory: Memory  # the rule's state, and the last update if the rule asks for it
    inner: dict[str, Array] = field(default_factory=dict)  # the inner strategy's arrays, by attribute and key


def save_progress(path: Path, progress: Standing, *, rule: Rule, inner: Strategy) -> None:
    """Write the checkpoint, whole or not at all."""
    arrays: dict[str, Array] = {
        "round": np.array(progress.round),
        "rule": np.array(repr(rule)),
        "names": np.array(list(progress.arrays)),
    }
    for i, array in enumerate(progress.arrays.values()):
        arrays[f"array.{i}"] = numbers_in(array)
    for name, value in vars(inner).items():
        if name not in PASSING:
            arrays |= {f"{INNER}{name}.{key}": part for key, part in _parts(value)}
    write_arrays(path, arrays | memory_arrays(rule, progress.memory))


def load_progress(path: Path, *, rule: Rule, like: ArrayRecord) -> Standing:
    """Return what was saved; a DataError if the file is damaged or of a model unlike the one given."""
    try:
        arrays = read_arrays(path)
        names = arrays.pop("names").tolist()
        record = ArrayRecord({name: encoded(arrays.pop(f"array.{i}")) for i, name in enumerate(names)})
        number, made_by = int(arrays.pop("round")), str(arrays.pop("rule"))
        inner = {name: arrays.pop(name) for name in [*arrays] if name.startswith(INNER)}
        if made_by != repr(rule):
            log.warning("%s was made with %s; the state of %s starts anew", path, made_by, rule.name)
            arrays = {}
        progress = Standing(number, record, restored_memory(rule, arrays), inner)
    except UNREADABLE as error:
        raise DataError(f"{path} is no checkpoint, or a damaged one: {error}") from None
    if _forms(record) != _forms(like):
        raise DataError(f"{path} is the checkpoint of another model than the initial arrays")
    return progress


def restore_inner(inner: Strategy, progress: Standing) -> None:
    """Give an inner strategy back the arrays (momenta, say) that it had."""
    found: dict[str, dict[str, Array]] = {}
    for name, values in progress.inner.items():
        attribute, _, key = name.removeprefix(INNER).partition(".")
        found.setdefault(attribute, {})[key] = values
    for attribute, parts in found.items():
        numbered = [f"[{i}]" for i in range(len(parts))]
        setattr(inner, attribute, [parts[key] for key in numbered] if set(parts) == set(numbered) else parts)


def _parts(value: Any) -> list[tuple[str, Array]]:
    """Return the arrays in an attribute: a dict of them, or a list."""
    if isinstance(value, list):
        value = {f"[{i}]": part for i, part in enumerate(value)}
    if not isinstance(value, dict):
        return []
    if not all(isinstance(part, np.ndarray | np.generic) for part in value.values()):
        return []
    return [(str(key), np.asarray(part)) for key, part in value.items()]


def _forms(record: ArrayRecord) -> dict[str, tuple[str, tuple[int, ...]]]:
    return {name: (array.dtype, tuple(array.shape)) for name, array in record.items()}
