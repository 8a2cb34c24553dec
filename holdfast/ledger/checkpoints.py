"""Checkpoints that are kept of some rounds, and the way back to one of them."""

import os
import re
import shutil
from contextlib import suppress
from pathlib import Path

from .._support.arrays import UNREADABLE, Arrays, read_arrays
from .._support.atomic import PRIVATE, replacing, write_whole
from .._support.locks import held, lock_of
from ..errors import DataError, HoldfastError, InputError
from .hashing import model_hash
from .opening import Ledger

__all__ = ["keep_checkpoint", "kept_checkpoints", "rewind"]


def kept_checkpoints(path: Path) -> dict[int, Path]:
    """Return the checkpoints that are kept beside the current one, by round.

    >>> kept_checkpoints(Path("nowhere/training.npz"))
    {}
    """
    pattern = re.compile(rf"{re.escape(path.stem)}\.round-(\d+){re.escape(path.suffix)}")
    found = {}
    for file in path.parent.glob(f"{path.stem}.round-*{path.suffix}"):
        if match := pattern.fullmatch(file.name):
            found[int(match[1])] = file
    return dict(sorted(found.items()))


def keep_checkpoint(path: Path, round: int, *, most: int) -> Path:
    """Keep the current checkpoint under its round, and of those up to it the newest so many.

    Later ones are of rounds that were undone: they take no room from those of the training that goes on.
    """
    kept = path.with_name(f"{path.stem}.round-{round}{path.suffix}")
    partial = path.with_name(f"{kept.name}.partial")
    partial.unlink(missing_ok=True)
    try:
        os.link(path, partial)  # the current one is replaced, never written over
    except OSError:
        with path.open("rb") as current, replacing(kept, mode=PRIVATE) as copy:
            shutil.copyfileobj(current, copy)
    else:
        os.replace(partial, kept)
        partial.unlink(missing_ok=True)  # nothing is renamed if both are the same file
    up_to_it = [file for number, file in kept_checkpoints(path).items() if number <= round]
    for file in up_to_it[:-most]:
        file.unlink(missing_ok=True)
    return kept


def rewind(ledger: Ledger, checkpoint: str | Path, *, to: int, why: str = "") -> list[int]:
    """Make the checkpoint of an earlier round the current one, and return the rounds that are undone by it.

    A training that then resumes continues from that round. What is undone stays in the ledger, marked as
    such, and its last checkpoint is kept.
    """
    path = Path(checkpoint)
    with held(lock_of(ledger.path)) as is_ours:
        if not is_ours:
            raise InputError(
                f"a training writes {ledger.path}: stop it, rewind, and start it with resume=True"
            )
        chosen = _checkpoint_of(path, to)
        row = next((one for one in ledger.rounds() if one["round"] == to), None)
        if row is None:
            raise InputError(_why_not(ledger, chosen, to))
        arrays = _read(chosen, to)
        stored = model_hash({name: arrays[f"array.{i}"] for i, name in enumerate(arrays["names"].tolist())})
        if row["model_after"] not in (None, stored):
            raise DataError(
                f"{chosen} is not of the training in {ledger.path}: after round {to} its model was another"
            )
        with suppress(HoldfastError, *UNREADABLE):  # what is gone back from, if it can be read
            keep_checkpoint(path, int(read_arrays(path)["round"]), most=10**6)
        # First: a training that resumes undoes the rounds by itself.
        write_whole(path, chosen.read_bytes(), mode=PRIVATE)
        return ledger.undo(after=to, why=why or f"rewound to round {to}")


def _checkpoint_of(path: Path, round: int) -> Path:
    kept = kept_checkpoints(path)
    if round in kept:
        return kept[round]
    with suppress(HoldfastError, *UNREADABLE):
        if int(read_arrays(path)["round"]) == round:
            return path
    rounds = ", ".join(map(str, kept)) or "none"
    raise InputError(
        f"no checkpoint of round {round} beside {path}; there are those of: {rounds}."
        " Robust(..., keep_every=5) keeps one of every fifth round"
    )


def _read(path: Path, round: int) -> Arrays:
    try:
        arrays = read_arrays(path)
        if int(arrays["round"]) != round:
            raise ValueError(f"it is of round {int(arrays['round'])}")
        return arrays
    except UNREADABLE as error:
        raise DataError(f"{path} is no checkpoint of round {round}, or a damaged one: {error}") from None


def _why_not(ledger: Ledger, checkpoint: Path, round: int) -> str:
    """Return why a round that has a checkpoint cannot be gone back to, and what to do."""
    rows = ledger.rounds(undone=True)
    undone = [one["undone"] for one in rows if one["round"] == round and one["undone"] is not None]
    if undone:
        return (
            f"round {round} of {ledger.path} is undone ({undone[-1]}) and no longer counts; its checkpoint is"
            f" kept as {checkpoint}. To train on from it, copy it, and start with resume=True, the copy as"
            " checkpoint=, and another ledger"
        )
    last = max((one["round"] for one in rows if one["undone"] is None), default=0)
    return f"{ledger.path} has no round {round}; its last one is {last}"
