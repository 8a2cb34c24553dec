"""simulate(run): round after round. No callbacks, no files, no printing: its driver does those."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..lazy_torch import torch
from ..models import flat_params, named_buffers
from ..scenario import Run, Task
from .checking import check_outputs
from .clients import one_thread, threads, workers
from .round import Round
from .state import Record, State
from .world import World, build_world, load, load_once

__all__ = ["Record", "State", "fresh_state", "load", "load_once", "simulate"]

Array = NDArray[Any]


def simulate(run: Run, *, after: State | None = None, device: str = "cpu") -> Iterator[tuple[Record, State]]:
    """Yield a record and the state after each round; `after` resumes from a state, to the same bits.

    >>> from holdfast.lab import TASKS
    >>> records = [record for record, _ in simulate(Run(TASKS["phishing"]).replace(n_rounds=2, n_clients=20))]
    >>> [record.round for record in records]
    [1, 2]
    """
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        reason = str(error).partition(".")[0]
        if "device type at start of device string" in reason:  # and then every name that torch ever had
            reason = "torch knows no device of this name"
        raise InputError(f"no device {device!r} here: {reason}; cpu always works") from None
    with one_thread():  # with more, torch would keep helpers, for which a process that is forked later waits
        world = build_world(run, device)
        check_outputs(run, world.model, world.data)
        state = after or fresh_state(world, device)
    with threads(world.model) as crew:
        while state.round < run.task.n_rounds:
            with one_thread():
                record, state = Round(world, crew, state).run()
            yield record, state


def fresh_state(world: World, device: str) -> State:
    """Return the state before the first round: a fresh network, which the server may have warmed up."""
    if not world.run.task.warm_epochs:
        return State(0, flat_params(world.model), buffers=named_buffers(world.model))
    described = str(world.run.description["task"])
    params, buffers = _warmed_up(world.run.task, described, world.run.seed, device)
    return State(0, params.copy(), buffers=buffers)


@lru_cache(maxsize=4)
def _warmed_up(
    task: Task, described: str, seed: int, device: str
) -> tuple[NDArray[np.float32], Mapping[str, Array]]:
    """Return params and buffers trained on the server's own examples: the same whatever the attack."""
    world = build_world(Run(task, seed=seed), device)
    fresh = State(-1, flat_params(world.model), buffers=named_buffers(world.model))
    shard = world.shard(task.n_clients, world.honest_examples(task.n_clients, 0), 0, epochs=task.warm_epochs)
    with workers(world.model) as crew:
        warm = Round(world, crew, fresh).train(task.warm or task.train, [shard])
    return fresh.params + warm.updates[0], warm.buffers[0] if warm.buffers else {}
