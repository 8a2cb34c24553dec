"""A table or figure as data: which runs are behind each of its cells, and what the paper prints there.

`document` reads the results that a folder holds and says what they come to; it never simulates.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from types import MappingProxyType
from typing import Any, Literal

from .. import __version__
from ..lab.choices import has_setting, with_settings
from ..lab.scenario import Run
from ..runs.records import OPTIONAL
from ..runs.results import Result, find_result
from .statistics import against, most_of, spread
from .watched import watch_shown

__all__ = [
    "Cell",
    "Document",
    "Experiment",
    "Printed",
    "changed",
    "document",
    "measured_over",
    "run_shown",
    "runs_folder",
    "runs_of",
    "stored_results",
]

Document = dict[str, Any]
#: Reads the experiments of a document and says of each claim whether it holds.
Judge = Callable[[Sequence[Document]], list[Document]]

#: Looks for a run's result in a folder; returns why files of it cannot be used, too.
Find = Callable[[Run, Path], tuple[Result | None, list[str]]]

#: The last rounds that are averaged beside the last one.
LAST = 10


@dataclass(frozen=True)
class Printed:
    """What the paper prints in a cell, as shares; after the ± it has the variance of three runs, rounded up.

    >>> Printed(0.679, 0.717).attack_success
    0.717
    """

    accuracy: float
    attack_success: float
    accuracy_variance: float = 0.001
    attack_success_variance: float = 0.001


@dataclass(frozen=True)
class Cell:
    """A row and a column, the runs behind them, one a seed, and what the paper has there.

    Where the task, the attack or the defence is not there, a cell has no runs, and stays unmeasured.

    >>> Cell("FedAvg", "phishing", task="phishing", attack="edge-case", defence="fedavg").runs
    ()
    """

    row: str
    column: str
    task: str
    attack: str
    defence: str
    runs: tuple[Run, ...] = ()
    n_wanted: int = 0
    printed: Printed | None = None
    stands_in_for: str | None = None  # the task that the paper has here
    x: float | None = None  # where the row is on the axis of a figure


@dataclass(frozen=True)
class Experiment:
    """One table or figure of the paper; `studies` has numbers that come from no run.

    Behind those are `analyses`, by name, each with one dictionary per seed.

    >>> Experiment("table1", "The main table", "table", "", ()).rows
    ()
    """

    name: str
    title: str
    kind: Literal["table", "figure"]
    note: str  # what was changed against the paper
    cells: tuple[Cell, ...]
    axis: str | None = None  # of a figure: what its rows are values of
    studies: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    analyses: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    baseline: str | None = None  # the row that the others are compared with, seed by seed
    over_attacks: bool = False  # whether columns are attacks, of which the worst counts
    printed_by: str = "the paper"  # whose numbers stand beside ours
    n_last: int = 1  # the last rounds whose mean is the result

    @property
    def rows(self) -> tuple[str, ...]:
        """The names of the rows, in order."""
        return tuple(dict.fromkeys(cell.row for cell in self.cells))

    @property
    def columns(self) -> tuple[str, ...]:
        """The names of the columns, in order."""
        return tuple(dict.fromkeys(cell.column for cell in self.cells))


def changed(experiments: Sequence[Experiment], settings: Mapping[str, Any]) -> list[Experiment]:
    """Return the experiments with these settings in all runs that have them; at least one must.

    What was printed stays beside the changed runs.

    >>> changed([], {})
    []
    """
    runs = runs_of(experiments).values()
    for name, value in settings.items():
        if runs and not any(has_setting(run, name) for run in runs):
            with_settings(next(iter(runs)), {name: value})  # raises, and says which settings there are
    note = "Set here: " + ", ".join(f"{name} = {value}" for name, value in settings.items()) + ". "

    def change(run: Run) -> Run:
        return with_settings(run, {name: own for name, own in settings.items() if has_setting(run, name)})

    return [
        replace(
            one,
            note=note + one.note,
            cells=tuple(replace(cell, runs=tuple(map(change, cell.runs))) for cell in one.cells),
        )
        for one in experiments
    ]


def runs_folder(folder: Path) -> Path:
    """Return where a folder of results keeps runs: one store for all commands.

    >>> runs_folder(Path("results")).name
    'runs'
    """
    return folder / "runs"


def runs_of(experiments: Iterable[Experiment]) -> dict[str, Run]:
    """Return all runs behind the experiments, by key, each once.

    >>> runs_of([])
    {}
    """
    return {run.key: run for one in experiments for cell in one.cells for run in cell.runs}


def stored_results(
    runs: Mapping[str, Run], folder: Path, *, find: Find = find_result
) -> tuple[dict[str, Result], dict[str, str]]:
    """Return what is stored of these runs, by key, finished or not, and [key] why something cannot be used.

    >>> stored_results({}, Path("results"))
    ({}, {})
    """
    found, unusable = {}, {}
    for key, run in runs.items():
        result, reasons = find(run, runs_folder(folder))
        if result is not None:
            found[key] = result
        elif reasons:
            unusable[key] = "; ".join(reasons)
    return found, unusable


def document(
    experiments: Iterable[Experiment], folder: Path, *, scale: str | None, judge: Judge | None = None
) -> Document:
    """Return what is measured, beside what is printed, as plain numbers, strings, lists and dictionaries.

    What is not finished counts as not measured; what cannot be used is listed with the reason. `judge` says
    which claims hold, as `paper.judge_claims` does. What is not one of ours has no scale: None.

    >>> document([], Path("results"), scale="cpu")["experiments"]
    []
    """
    experiments = list(experiments)
    runs = runs_of(experiments)
    found, unusable = stored_results(runs, folder)
    shown = [_shown(one, found, scale) for one in experiments]
    return {
        "version": __version__,
        "scale": scale,
        "claims": judge(shown) if judge else [],
        "experiments": shown,
        "runs": {key: run_shown(result) for key, result in found.items()},
        "unusable": unusable,
    }


def _shown(one: Experiment, found: Mapping[str, Result], scale: str | None) -> Document:
    return {
        "name": one.name,
        "title": one.title,
        "kind": one.kind,
        "note": one.note,
        "axis": one.axis,
        "rows": list(one.rows),
        "columns": list(one.columns),
        "cells": _compared([_cell_shown(cell, found, scale, one.n_last) for cell in one.cells], one.baseline),
        "studies": dict(one.studies),
        "analyses": dict(one.analyses),
        "baseline": one.baseline,
        "printed_by": one.printed_by,
        "over_attacks": one.over_attacks,
        "n_last": one.n_last,
    }


def _compared(cells: list[Document], baseline: str | None) -> list[Document]:
    """Return the cells; where there is a baseline, with their differences to its cell in the same column."""
    by_column = {cell["column"]: cell for cell in cells if cell["row"] == baseline}
    for cell in cells:
        if cell["measured"] and cell["row"] != baseline and cell["column"] in by_column:
            differences = against(cell, by_column[cell["column"]])
            cell["measured"]["against"] = {"baseline": baseline, **differences}
    return cells


def _cell_shown(cell: Cell, found: Mapping[str, Result], scale: str | None, n_last: int) -> Document:
    finished = [found[run.key] for run in cell.runs if run.key in found and found[run.key].finished]
    return {
        **{name: getattr(cell, name) for name in ("row", "column", "task", "attack", "defence")},
        "printed": None if cell.printed is None else asdict(cell.printed),
        "stands_in_for": cell.stands_in_for,
        "x": cell.x,
        "measured": measured_over(finished, n_last=n_last) if finished else None,
        "n_seeds": len(finished),
        "n_wanted": cell.n_wanted,
        "seeds": [result.seed for result in finished],
        "scale": scale,
        "keys": [run.key for run in cell.runs],
    }


def measured_over(results: Sequence[Result], *, n_last: int = 1) -> Document:
    """Return what the runs of a cell came to: as means of the last `n_last` rounds, and of the last ten.

    >>> measured_over([])["accuracy"] is None
    True
    """
    numbers: Document = {}
    for name in ("accuracy", "attack_success", *_optional(results)):
        most = most_of(name)
        numbers[name] = spread([_mean(result.series(name)[-n_last:]) for result in results], most=most)
        tails = [_mean(result.series(name)[-LAST:]) for result in results]
        numbers[f"last{LAST}_{name}"] = spread(tails, most=most)
    n_lost = sum(len(result.summary.lost or ()) for result in results)
    return {
        **numbers,
        **({"n_lost": n_lost, "n_rounds": sum(result.n_done for result in results)} if n_lost else {}),
        "longest": max((result.n_done for result in results), default=0),  # in rounds
        "kept_fraction": _mean([result.mean("kept_fraction") for result in results]),
        "n_attackers": _mean([result.mean("n_attackers") for result in results]),
        "seconds_a_round": _mean([result.mean("seconds") for result in results]),
    }


def _optional(results: Iterable[Result]) -> list[str]:
    """Return the optional numbers that some of the runs measure."""
    return [name for name in OPTIONAL if any(result.last(name) is not None for result in results)]


def run_shown(result: Result) -> Document:
    """Return a run as a document has it: what it is, and its numbers round by round."""
    names = ("accuracy", "attack_success", "kept_fraction", "n_attackers", *_optional([result]))
    task, summary, watch = result.description["task"], result.summary, watch_shown(result)
    return {
        **{name: getattr(result, name) for name in ("task", "attack", "defence", "seed", "n_rounds")},
        "finished": result.finished,
        "run": result.described,
        "n_clients": task["n_clients"],
        "n_per_round": task["n_per_round"],
        "series": {name: list(result.series(name)) for name in names},
        "trim_share": dict(summary.trimmed_share),
        "malicious": list(summary.malicious),
        "dropped": dict(summary.dropped),
        "seconds_a_round": result.mean("seconds"),
        **({} if watch is None else {"watch": watch}),
        **({"n_lost": len(summary.lost)} if summary.lost else {}),
    }


def _mean(numbers: Sequence[float | None]) -> float | None:
    found = spread(numbers)
    return None if found is None else found["mean"]
