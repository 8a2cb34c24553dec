"""Defences side by side as an experiment: one row each, under an attack and without it."""

from collections.abc import Mapping, Sequence

from ..lab.choices import unattacked
from ..lab.scenario import Run
from .experiment import Cell, Experiment

__all__ = ["ATTACKED", "HONEST", "comparison"]

ATTACKED, HONEST = "under attack", "no attack"


def comparison(contest: Mapping[str, Sequence[Run]]) -> Experiment:
    """Return the runs of each defence, one per seed, beside the same runs with honest clients only."""
    cells = [
        Cell(
            defence,
            column,
            task=own[0].task.name,
            attack=own[0].attack.name,
            defence=own[0].defence.name,
            runs=own,
            n_wanted=len(own),
        )
        for defence, runs in contest.items()
        for column, own in ((ATTACKED, tuple(runs)), (HONEST, tuple(map(unattacked, runs))))
    ]
    run = cells[0].runs[0]
    task, attack = run.task, run.attack
    title = f"{task.name}: {attack.n_malicious} of {task.n_clients} clients attack ({attack.name})"
    note = f"{task.n_rounds} rounds, with {task.n_per_round} of {task.n_clients} clients each."
    return Experiment(f"{task.name}-{attack.name}", title, "table", note, tuple(cells))
