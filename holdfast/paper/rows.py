"""Rows of the paper's tables put over tasks: what every table has in common.

What is not known here, a task or a defence, gives a cell without runs: it stays unmeasured, and nothing
fails. Keys of runs never need the data, so results can be read where the data is not.
"""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from .._support.counting import whole_share
from ..errors import InputError
from ..lab.choices import Numbers, build_run, unattacked
from ..lab.names import task_named
from ..lab.scenario import Run
from .experiment import Cell, Printed

__all__ = ["COLUMNS", "LIKE_CIFAR10", "REAL", "STAND_IN", "TAU", "Row", "cells_of"]

#: What is measured, and in which order it is shown.
COLUMNS = ("phishing", "digits", "cifar10", "twitter")

#: Public tables, beside the stand-in for the paper's own.
REAL = ("phishing-urls", "spambase")

#: Where an experiment is repeated that the paper made on CIFAR-10 alone.
LIKE_CIFAR10 = ("phishing", "digits", "cifar10")

#: The task that stands in for another where only that one was measured in the paper.
STAND_IN: Mapping[str, str] = MappingProxyType({"digits": "cifar10"})

#: The agreement that a mask asks for, as in the paper's table 3. Digits are a task of our own: there it is
#: what the paper takes for two of its three tasks, the one setting of which its theorem holds.
TAU: Mapping[str, float] = MappingProxyType(
    {"phishing": 0.6, "digits": 0.6, "cifar10": 0.2, "twitter": 0.6, "phishing-urls": 0.6, "spambase": 0.6}
)

#: How many of the clients are malicious.
MALICIOUS: Mapping[str, float] = MappingProxyType(
    {"phishing": 0.2, "digits": 0.2, "cifar10": 0.2, "twitter": 0.1, "phishing-urls": 0.2, "spambase": 0.2}
)

#: Settings that a defence has on one task only.
SETTINGS: Mapping[tuple[str, str], Mapping[str, Any]] = MappingProxyType(
    {
        ("mean_variance_mask", "cifar10"): {"mean_variance_mask.kappa": 0.199},  # as strict as tau = 0.2
        ("weak_dp", "twitter"): {"weak_dp.max_norm": 1.5},
    }
)


#: What makes a slow defence quick, to see that it works.
QUICK: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {"flip": {"flip_compact.n_inversion_steps": 2, "flip_compact.n_shown": 4}}
)


@dataclass(frozen=True)
class Row:
    """One row: a defence and an attack, and what is set differently from the task's usual way.

    >>> Row("Median", "median").attack
    'edge-case'
    """

    label: str
    defence: str = "invariant"
    attack: str = "edge-case"
    printed: Mapping[str, Printed] = field(default_factory=dict)
    tasks: tuple[str, ...] = COLUMNS
    settings: Mapping[str, Any] = field(default_factory=dict)
    share: float | None = None  # of the clients that are malicious; 0 still measures the backdoor
    n_per_round: int | None = None
    change: Callable[[Run], Run | None] | None = None  # whatever has no name; None: it cannot be run
    x: float | None = None  # where it is in a figure


def cells_of(
    rows: Iterable[Row], tasks: Iterable[str], *, scale: str, n_seeds: int, stands_in: bool = False
) -> tuple[Cell, ...]:
    """Return the cells of these rows; with `stands_in`, digits beside what is printed of CIFAR-10.

    >>> cells_of([Row("Median", "median")], ["digits"], scale="cpu", n_seeds=3)[0].runs[2].seed
    2
    """
    tasks = tuple(tasks)
    return tuple(
        _cell(row, task, scale, n_seeds, STAND_IN.get(task) if stands_in else None)
        for row in rows
        for task in tasks
        if task in row.tasks
    )


def _cell(row: Row, task: str, scale: str, n_seeds: int, stands_in_for: str | None) -> Cell:
    run = _run(row, task, scale) if _is_known(row, task, scale) else None
    printed = row.printed.get(stands_in_for or task)
    return Cell(
        row.label,
        task,
        task=task,
        attack="none" if row.share == 0 else row.attack,
        defence=row.defence,
        runs=() if run is None else tuple(run.replace(seed=seed) for seed in range(n_seeds)),
        n_wanted=n_seeds,
        printed=printed,
        stands_in_for=stands_in_for,
        x=row.x,
    )


def _is_known(row: Row, task: str, scale: str) -> bool:
    """Return whether these names can be run here; their settings are another matter."""
    try:
        build_run(task, attack=row.attack, defence=row.defence, scale=scale)
    except InputError:
        return False
    return True


def _run(row: Row, task: str, scale: str) -> Run | None:
    share = MALICIOUS[task] if row.share is None else row.share
    base = task_named(task, scale=scale)
    n_clients = max(base.n_clients, row.n_per_round or 0)  # at the smallest scale there may be too few
    n_malicious = whole_share(share or MALICIOUS[task], n_clients)
    numbers = Numbers(None, n_clients, row.n_per_round, n_malicious)
    settings = {**_usual(row, task), **row.settings}
    if scale == "smoke":
        settings |= QUICK.get(row.defence, {})
    run = build_run(
        task, attack=row.attack, defence=row.defence, settings=settings, numbers=numbers, scale=scale
    )
    run = run if share else unattacked(run)
    return run if row.change is None else row.change(run)


def _usual(row: Row, task: str) -> dict[str, Any]:
    """Return the settings of the paper's table 3, and what goes with them."""
    settings = dict(SETTINGS.get((row.defence, task), {}))
    if row.defence in ("invariant", "and_mask"):
        settings[f"{row.defence}.tau"] = TAU[task]
    if "adaptive-simulated" in row.attack.split("+"):
        settings["adaptive_simulated.tau"] = TAU[task]
    return settings
