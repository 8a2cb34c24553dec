"""Defences side by side as an experiment: one row each, under an attack and without it."""

from collections.abc import Mapping, Sequence
from typing import Any

from .._support.lookup import offered
from ..errors import InputError
from ..lab.choices import unattacked
from ..lab.scenario import Run, Task
from .experiment import Cell, Experiment

__all__ = ["ATTACKED", "HONEST", "comparison"]

ATTACKED, HONEST = "under attack", "no attack"


def comparison(
    contest: Mapping[str, Sequence[Run]],
    *,
    baseline: str | None = None,
    settings: Mapping[str, Any] | None = None,
) -> Experiment:
    """Return the runs of each defence, one per seed, beside the same runs with honest clients only.

    With a `baseline`, its document has the differences of all other defences to that one. The `settings` are
    those that the contest was built with: its note names them.

    >>> from holdfast.lab.choices import build_contest
    >>> contest = build_contest("digits", ["fedavg", "median"], attack="edge-case")
    >>> comparison(contest, baseline="medain")
    Traceback (most recent call last):
    holdfast.errors.InputError: no defence 'medain' to compare with; did you mean 'median'? There are: fedavg,
        median
    """
    if baseline is not None and baseline not in contest:
        baseline = baseline.replace("-", "_")
        if baseline not in contest:
            raise InputError(f"no defence {baseline!r} to compare with{offered(baseline, contest)}")
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
    note = _note(task, [run.seed for run in cells[0].runs], settings or {})
    return Experiment(f"{task.name}-{attack.name}", title, "table", note, tuple(cells), baseline=baseline)


def _note(task: Task, seeds: Sequence[int], settings: Mapping[str, Any]) -> str:
    """Return in words how the runs were made."""
    words = [
        f"{task.n_rounds} round{'s' * (task.n_rounds != 1)}, with {task.n_per_round} of {task.n_clients}"
        " clients each.",
        f"Seed{'s' * (len(seeds) > 1)}: {', '.join(map(str, seeds))}.",
    ]
    words += ["Set: " + ", ".join(f"{name}={value}" for name, value in settings.items()) + "."] * bool(
        settings
    )
    return " ".join(words)
