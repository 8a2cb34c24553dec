"""The models that runs with a warm start begin with: trained once per folder, and used by all of its runs."""

from contextlib import suppress
from dataclasses import replace
from pathlib import Path

from ..errors import DataError
from ..lab.scenario import Run
from ..lab.simulation import State, fresh_state
from ..lab.simulation.world import build_world
from .checkpoints import load_checkpoint, save_checkpoint

__all__ = ["warm_state"]


def warm_state(run: Run, folder: Path, *, device: str = "cpu") -> State | None:
    """Return what a run with a warm start begins with, from KEY.warm.npz or made into it; else None.

    It is the same whatever the attack, the defence and the number of rounds.

    >>> from holdfast.lab import TASKS
    >>> warm_state(Run(TASKS["digits"]), Path("nowhere")) is None
    True
    """
    if not run.task.warm_epochs:
        return None
    shared = Run(replace(run.task, n_rounds=1), seed=run.seed)
    path = folder / f"{shared.key}.warm.npz"
    with suppress(DataError):
        return load_checkpoint(path, shared, device=device)
    state = fresh_state(build_world(shared, device), device)
    save_checkpoint(path, shared, state, device=device)
    return state
