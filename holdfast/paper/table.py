"""A table of the paper as data: rows put over tasks. Called, it returns the experiment with its runs.

A name that the laboratory does not know raises. Descriptions of runs never need the data, so results can be
read where the data is not.
"""

import csv
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from .._support.counting import whole_share
from ..lab.choices import Numbers, build_run, unattacked
from ..lab.scenario import Run
from ..lab.tasks import base_name, task_named
from .experiment import Cell, Experiment, Printed

__all__ = ["LIKE_CIFAR10", "NUMERIC", "REAL", "STAND_IN", "TASKS", "Row", "Table", "printed_numbers"]

#: The tasks that are measured, in the order they are shown. The paper deals all of its tasks unevenly; beside
#: it stands phishing with equal shares.
TASKS = ("phishing-noniid", "phishing", "digits", "cifar10", "twitter")

#: Public tables, beside the stand-in for the paper's own.
REAL = ("phishing-urls", "spambase")

#: Where an experiment is repeated that the paper ran on CIFAR-10 alone.
LIKE_CIFAR10 = ("phishing", "digits", "cifar10")

#: The tasks whose inputs are numbers, of which triggers are made.
NUMERIC = ("phishing-noniid", *LIKE_CIFAR10)

#: The task that stands in for another where the paper measured only that one.
STAND_IN: Mapping[str, str] = MappingProxyType({"digits": "cifar10"})

#: Settings that a defence, or a part of an attack, has on one task or at one scale only.
SETTINGS: Mapping[tuple[str, str], Mapping[str, Any]] = MappingProxyType(
    {
        ("mean_variance_mask", "cifar10"): {"mean_variance_mask.kappa": 0.199},  # as strict as tau = 0.2
        ("adaptive-simulated", "cifar10"): {"adaptive_simulated.tau": 0.2},
        ("weak_dp", "twitter"): {"weak_dp.max_norm": 1.5},
        ("flip", "smoke"): {"flip_compact.n_inversion_steps": 2, "flip_compact.n_shown": 4},  # it is slow
    }
)


@dataclass(frozen=True)
class Row:
    """One row: a defence and an attack, and what is set differently from the task's own settings.

    A row without a meaning on a task, such as FLIP on text, leaves the task out of `tasks`.
    """

    label: str
    defence: str = "invariant"
    attack: str = "edge-case"
    tasks: tuple[str, ...] | None = None  # None: all tasks of the table
    settings: Mapping[str, Any] = field(default_factory=dict)
    share: float | None = None  # of malicious clients, if not the task's own; 0 still measures the backdoor
    n_per_round: int | None = None
    change: Callable[[Run, str], Run | None] | None = None  # of a run at a scale; None: there is no such run
    x: float | None = None  # where the row is in a figure
    most_seeds: int | None = None  # where more are not wanted of this row


@dataclass(frozen=True)
class Table:
    """A table of the paper, or a figure, which has an axis."""

    name: str
    title: str
    note: str | Callable[[str], str]  # what was changed against the paper; by scale, if that differs
    rows: tuple[Row, ...]
    tasks: tuple[str, ...] = TASKS
    stands_in: bool = False  # digits stand beside what is printed of CIFAR-10
    axis: str | None = None  # of a figure: what its rows are values of
    printed_by: str = "the paper"  # whose numbers stand beside ours
    printed_in: tuple[str, ...] = ()  # the tables with those numbers, if not this one
    most_seeds: int | None = None  # where a run takes so long that more are not wanted
    n_last: int = 1  # the last rounds whose mean is the result, as in what is printed

    def has(self, row: str, task: str) -> bool:
        """Return whether there is a cell of this row and task."""
        return any(one.label == row and task in (one.tasks or self.tasks) for one in self.rows)

    def __call__(
        self, *, scale: str = "cpu", n_seeds: int = 3, tasks: Iterable[str] | None = None
    ) -> Experiment:
        """Return the experiment on these of its tasks, at a scale, with so many seeds."""
        wanted = self.tasks if tasks is None else [task for task in tasks if task in self.tasks]
        n_seeds = min(n_seeds, self.most_seeds or n_seeds)
        cells = tuple(
            self._cell(row, task, scale, n_seeds)
            for row in self.rows
            for task in wanted
            if task in (row.tasks or self.tasks)
        )
        kind: Literal["table", "figure"] = "table" if self.axis is None else "figure"
        note = self.note if isinstance(self.note, str) else self.note(scale)
        return Experiment(
            self.name,
            self.title,
            kind,
            note,
            cells,
            axis=self.axis,
            printed_by=self.printed_by,
            n_last=self.n_last,
        )

    def _cell(self, row: Row, task: str, scale: str, n_seeds: int) -> Cell:
        run = _run(row, task, scale)
        stands_in_for = STAND_IN.get(task) if self.stands_in else None
        n_seeds = min(n_seeds, row.most_seeds or n_seeds)
        return Cell(
            row.label,
            task,
            task=task,
            attack="none" if row.share == 0 else row.attack,
            defence=row.defence,
            runs=() if run is None else tuple(run.replace(seed=seed) for seed in range(n_seeds)),
            n_wanted=n_seeds,
            printed=self._printed(row.label, stands_in_for or task),
            stands_in_for=stands_in_for,
            x=row.x,
        )

    def _printed(self, row: str, task: str) -> Printed | None:
        """Return what is printed of a row, in this table or in those that it repeats."""
        names = self.printed_in or (self.name,)
        numbers = (printed_numbers().get((name, row, base_name(task))) for name in names)
        return next(filter(None, numbers), None)


@cache
def printed_numbers() -> dict[tuple[str, str, str], Printed]:
    """Return what the paper prints, by table, row and task."""
    names = [field.name for field in fields(Printed)]
    with Path(__file__).with_name("printed.csv").open(encoding="utf-8", newline="") as file:
        return {
            (line["table"], line["row"], line["task"]): Printed(*(float(line[name]) for name in names))
            for line in csv.DictReader(file)
        }


def _run(row: Row, task: str, scale: str) -> Run | None:
    # At the smallest scale there may be fewer clients than the row draws per round.
    n_clients = max(task_named(task, scale=scale).n_clients, row.n_per_round or 0)
    n_malicious = whole_share(row.share, n_clients) if row.share else None
    settings: dict[str, Any] = {}
    for name in (row.defence, *row.attack.split("+")):
        settings |= {**SETTINGS.get((name, scale), {}), **SETTINGS.get((name, task), {})}
    run = build_run(
        task,
        attack=row.attack,
        defence=row.defence,
        settings=settings | dict(row.settings),
        numbers=Numbers(None, n_clients, row.n_per_round, n_malicious),
        scale=scale,
    )
    run = unattacked(run) if row.share == 0 else run
    return run if row.change is None else row.change(run, scale)
