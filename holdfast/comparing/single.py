"""The page of one run."""

from collections.abc import Mapping
from pathlib import Path

from .._support.atomic import write_whole
from .._support.counting import counted
from ..lab.scenario import Run
from ..paper.experiment import Cell, Experiment, document
from ..report.conclusions import Conclusion
from ..report.pages import results_page

__all__ = ["write_run"]


def write_run(
    run: Run,
    out: Path,
    path: Path,
    *,
    links: Mapping[str, str] | None = None,
    conclusion: Conclusion | None = None,
) -> None:
    """Write the page of a run that is stored in the folder `out`; `links` says where else it can be seen."""
    task, attack, defence = run.task.name, run.attack.name, run.defence.name
    cell = Cell(defence, task, task=task, attack=attack, defence=defence, runs=(run,), n_wanted=1)
    rounds = counted(run.task.n_rounds, "round")
    note = f"{rounds}, {run.task.n_per_round} of {run.task.n_clients} clients each."
    title = f"{task}, attack {attack}, defence {defence}, seed {run.seed}"
    found = document([Experiment("run", title, "table", note, (cell,))], out, scale=None)
    if conclusion is not None:
        found["conclusion"] = conclusion.as_dict()
    write_whole(path, results_page(found, title="One training", links=links).encode())
