"""Defences side by side as an experiment: one row each, under an attack and without it."""

from collections.abc import Mapping, Sequence

from .._support.lookup import nearest
from ..errors import InputError
from ..lab.choices import unattacked
from ..lab.scenario import Run
from .experiment import Cell, Experiment

__all__ = ["ATTACKED", "HONEST", "comparison"]

ATTACKED, HONEST = "under attack", "no attack"


def comparison(contest: Mapping[str, Sequence[Run]], *, baseline: str | None = None) -> Experiment:
    """Return the runs of each defence, one per seed, beside the same runs with honest clients only.

    With a `baseline`, its document has the differences of all other defences to that one.

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
            hint, names = nearest(baseline, contest), ", ".join(contest)
            raise InputError(f"no defence {baseline!r} to compare with; {hint}There are: {names}")
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
    return Experiment(f"{task.name}-{attack.name}", title, "table", note, tuple(cells), baseline=baseline)
