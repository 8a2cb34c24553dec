"""What a defence remembers, damaged on the disk: a clear error, or no effect; never a silent loss."""

import tempfile
from dataclasses import dataclass, fields, is_dataclass
from functools import cache
from pathlib import Path

import numpy as np
from flwr.serverapp.strategy import FedAdam

from holdfast import centered_clipping, defend, factions, median, sparsefed
from holdfast.core import Memory
from holdfast.errors import HoldfastError
from holdfast.files.room import Room
from holdfast.files.saving import load_memory, save_memory
from holdfast.flower import Robust
from holdfast.flower.progress import load_progress
from holdfast.lab.simulation import simulate
from holdfast.runs.checkpoints import load_checkpoint, save_checkpoint

from ..flower.nodes import Federation, arrays_in, model, record
from ..runs.tiny import tiny_run
from .damage import cut, flipped, mutated, overwritten
from .rounds import pick


@dataclass(frozen=True)
class Stored:
    """A state as it was written, and how to read it."""

    raw: bytes
    read: object  # path -> what is remembered


def attack(rng, folder):
    """Damage a stored state, and read it."""
    kind = pick(rng, [*KINDS])
    path = folder / f"state{'.safetensors' if kind in IN_FILES else '.npz'}"
    stored = made(kind, path.suffix)
    path.write_bytes(stored.raw)
    whole = plain(stored.read(path))
    damaged = pick(rng, [flipped, flipped, cut, overwritten, mutated])(rng, stored.raw)
    path.write_bytes(damaged)
    try:
        found = plain(stored.read(path))
    except HoldfastError as error:
        said = str(error)
    else:
        assert found == whole, f"{kind}: damaged, and nobody says so"
        return "without effect"
    assert str(path) in said, "the error does not name the file"
    assert said.isprintable()
    return "refused"


def plain(value):
    """Return all that is remembered as something that can be compared to the bit."""
    if is_dataclass(value):
        return {field.name: plain(getattr(value, field.name)) for field in fields(value)}
    if isinstance(value, np.ndarray) and value.dtype != object:
        return value.dtype.str, value.shape, value.tobytes()
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    return [plain(part) for part in value] if isinstance(value, list | tuple | np.ndarray) else value


@cache
def made(kind, suffix):
    """Make a state once."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"state{suffix}"
        read = KINDS[kind](path)
        return Stored(path.read_bytes(), read)


def memory_of(rule):
    """Return what is remembered after three rounds under a watch."""
    rng, state = np.random.default_rng(0), None
    for _ in range(3):
        sent = {f"c{i}": update for i, update in enumerate(rng.normal(size=(12, 40)))}
        result = defend(sent, rule, like=np.zeros(40), watch=factions(hearing=1), state=state, rng=rng)
        state = result.state
    assert isinstance(state, Memory)
    return state


def of_files(rule):
    def write(path):
        save_memory(path, rule, memory_of(rule))
        return lambda path: load_memory(path, rule, Room(path.parent, 10**9))

    return write


def of_run(path):
    run = tiny_run("factions+sparsefed", sizes=(45, 2))
    *_, (_, state) = simulate(run)
    save_checkpoint(path, run, state)
    return lambda path: load_checkpoint(path, run)


def of_flower(rule, inner):
    def write(path):
        strategy = Robust(rule, watch=factions(hearing=1), inner=inner(), checkpoint=path)
        strategy.start(Federation(), record(model()), num_rounds=2)

        def read(path):
            own = inner()
            found = load_progress(
                path, rule=strategy.rule, watch=strategy.watch, inner=own, like=record(model())
            )
            moments = {name: value for name, value in vars(own).items() if isinstance(value, dict)}
            return [found.round, found.memory, arrays_in(found.arrays), moments]

        return read

    return write


#: kind: writes a state to a path, and returns what reads it
IN_FILES = {"files": of_files(sparsefed(kept=0.2)), "files without a state": of_files(median)}
KINDS = {
    **IN_FILES,
    "a run": of_run,
    "Flower": of_flower(sparsefed(kept=0.2), FedAdam),
    "Flower, centred": of_flower(centered_clipping, FedAdam),
}
