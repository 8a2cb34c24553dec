"""Where a training stands after a round, in one file: the model, and what rule and strategy remember."""

import logging
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from flwr.app import ArrayRecord
from flwr.serverapp.strategy import Strategy
from numpy.typing import NDArray

from .._support.arrays import UNREADABLE, Arrays, read_arrays, write_arrays
from .._support.atomic import PRIVATE
from ..core import Memory, Rule, Watch
from ..errors import DataError, HoldfastError, InputError
from ..ledger.checkpoints import keep_checkpoint
from ..watching.states import memory_arrays, restored_memory
from .decoding import model_arrays, model_record

__all__ = ["Standing", "check_place", "held_already", "keep_progress", "load_progress"]

Array = NDArray[Any]

INNER = "inner."
#: Set by an inner strategy when a round starts.
PASSING = {"current_arrays"}

log = logging.getLogger("holdfast")


@dataclass(frozen=True, eq=False)
class Standing:
    """What is known after a round."""

    round: int
    arrays: ArrayRecord
    memory: Memory  # of the rule and of the watch


def check_place(path: Path) -> None:
    """Make the folder that a checkpoint goes to; an InputError where none can ever be."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"checkpoint={str(path)!r} cannot be written: {error.strerror}") from None


def held_already(path: Path) -> str:
    """Return why a training cannot start anew over a checkpoint, and what to do."""
    try:
        number = int(read_arrays(path)["round"])
        found = f"holds a training after round {number}: pass resume=True to go on, or"
    except (HoldfastError, *UNREADABLE):
        found = "is there already, and is no checkpoint that can be read:"
    return f"checkpoint={str(path)!r} {found} move it away to start anew"


def keep_progress(
    path: Path, progress: Standing, *, rule: Rule, watch: Watch | None, inner: Strategy, most_kept: int = 0
) -> None:
    """Write the checkpoint, whole or not at all, and keep it beside the next ones if so many are to be kept.

    A full disk is logged, and never ends the training.
    """
    arrays = _arrays_of(progress, rule, watch, inner)
    try:
        write_arrays(path, arrays, mode=PRIVATE)  # what the watch looks at is a secret
        if most_kept:
            keep_checkpoint(path, progress.round, most=most_kept)
    except OSError as error:
        log.error(
            "the checkpoint %s could not be written after round %d: %s. The training continues; if the file"
            " exists, it is of an earlier round. Make room, and the next round writes it",
            path,
            progress.round,
            error.strerror or error,
        )


def _arrays_of(progress: Standing, rule: Rule, watch: Watch | None, inner: Strategy) -> Arrays:
    """Return all that is to be stored, by name."""
    arrays: Arrays = {
        "round": np.array(progress.round),
        "rule": np.array(repr(rule)),
        "watch": np.array(repr(watch)),
        "names": np.array(list(progress.arrays)),
    }
    for i, values in enumerate(model_arrays(progress.arrays).values()):
        arrays[f"array.{i}"] = values
    for name, value in vars(inner).items():
        if name not in PASSING:
            arrays |= {f"{INNER}{name}.{key}": part for key, part in _parts(value)}
    return arrays | memory_arrays(rule, progress.memory)


def load_progress(
    path: Path, *, rule: Rule, watch: Watch | None, inner: Strategy, like: ArrayRecord
) -> Standing:
    """Return what was saved, and give the inner strategy its arrays (momenta, say) back.

    A DataError if the file is damaged, or of a model unlike the one given.
    """
    try:
        arrays = read_arrays(path)
        names = arrays.pop("names").tolist()
        record = model_record({name: arrays.pop(f"array.{i}") for i, name in enumerate(names)})
        number = int(arrays.pop("round"))
        stepped = {name: arrays.pop(name) for name in [*arrays] if name.startswith(INNER)}
        memory = restored_memory(rule, _still_valid(path, arrays, rule, watch))
        progress = Standing(number, record, memory)
    except UNREADABLE as error:
        raise DataError(f"{path} is no checkpoint, or a damaged one: {error}") from None
    if _forms(record) != _forms(like):
        raise DataError(f"{path} is the checkpoint of another model than the initial arrays")
    _restore(inner, stepped)
    return progress


def _still_valid(path: Path, stored: Arrays, rule: Rule, watch: Watch | None) -> Arrays:
    """Return what of a stored memory is for this rule and this watch, and warn if it was for others."""
    old_rule, old_watch = str(stored.pop("rule")), str(stored.pop("watch", None))
    of_watch = {name: stored.pop(name) for name in [*stored] if name.startswith(("watch.", "start."))}
    if old_rule != repr(rule):
        log.warning("%s was made with %s; the state of %s starts anew", path, old_rule, rule.name)
        stored = {}
    if old_watch != repr(watch):
        follows = "whom it had expelled has a say again" if watch is None else "nodes are heard anew"
        log.warning("%s was made with watch=%s, and resumes with %s: %s", path, old_watch, watch, follows)
        of_watch = {}
    return stored | of_watch


def _restore(inner: Strategy, arrays: Arrays) -> None:
    found: dict[str, Arrays] = {}
    for name, values in arrays.items():
        attribute, _, key = name.removeprefix(INNER).partition(".")
        found.setdefault(attribute, {})[key] = values
    for attribute, parts in found.items():
        numbered = [f"[{i}]" for i in range(len(parts))]
        setattr(inner, attribute, [parts[key] for key in numbered] if set(parts) == set(numbered) else parts)


def _parts(value: Any) -> list[tuple[str, Array]]:
    """Return the arrays in an attribute: a dict of them, or a list."""
    if isinstance(value, list):
        value = {f"[{i}]": part for i, part in enumerate(value)}
    parts = value if isinstance(value, dict) else {}
    are_arrays = all(isinstance(part, np.ndarray | np.generic) for part in parts.values())
    return [(str(key), np.asarray(part)) for key, part in parts.items()] if are_arrays else []


def _forms(record: ArrayRecord) -> dict[str, tuple[str, tuple[int, ...]]]:
    return {name: (array.dtype, tuple(array.shape)) for name, array in record.items()}
