"""The curves of experiments as files: one a column, from the results in a folder."""

from collections.abc import Iterable
from pathlib import Path

from ..errors import DataError
from ..paper.experiment import Cell, Experiment, runs_folder
from ..runs.results import Result, load_result
from .comparison import Standing
from .curves import draw_curves

__all__ = ["KINDS", "draw_experiments"]

#: What figures can be drawn as.
KINDS = ("png", "svg", "pdf")


def draw_experiments(
    experiments: Iterable[Experiment], results: Path, folder: Path, *, kind: str
) -> list[Path]:
    """Draw accuracy and attack success by round, a file for every column that was measured; return the files.

    >>> draw_experiments([], Path("results"), Path("figures"), kind="svg")
    []
    """
    drawn = []
    for one in experiments:
        for column in one.columns:
            cells = [cell for cell in one.cells if cell.column == column]
            standings = [Standing(cell.row, _finished(cell, results), ()) for cell in cells]
            standings = [standing for standing in standings if standing.attacked]
            if standings:
                name = f"{one.name}-{column}".replace(" ", "-").replace("/", "-")
                path = folder / f"{name}.{kind}"
                drawn.append(draw_curves(standings, path, title=f"{one.title} ({column})"))
    return drawn


def _finished(cell: Cell, folder: Path) -> tuple[Result, ...]:
    found = []
    for run in cell.runs:
        try:
            result = load_result(run, runs_folder(folder))
        except DataError:  # not made yet
            continue
        if result.finished:
            found.append(result)
    return tuple(found)
