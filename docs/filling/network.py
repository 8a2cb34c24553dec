"""Trainings of the paper's own network, round by round: a table of windows and a figure."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from holdfast.paper.experiment import runs_folder
from holdfast.paper.network_table import NETWORK_TABLE
from holdfast.report.plotting import AGGREGATE, BENIGN, MALICIOUS, MUTED, new_figure, with_grid
from holdfast.runs.results import Result, find_result

from .grid import grid

RESULTS = Path(__file__).parents[2] / "results"

#: The attack success swings with who was drawn last: means of ten rounds say more than the last one.
WINDOW = 10
ENDS = (30, 60, 100)

#: Colour and dashes of the lines, by row.
LINES: dict[str, tuple[str, Any]] = {
    "FedAvg": (MALICIOUS, "-"),
    "AND-mask": (MALICIOUS, (0, (4, 2))),
    "Trimmed mean": ("#d68910", "-"),
    "Invariant": ("#7d3c98", "-"),
    "Invariant (τ 0.6)": ("#7d3c98", (0, (4, 2))),
    "Invariant (released code: τ 0.6, α 0.45)": ("#7d3c98", (0, (1, 1.5))),
    "Watch, Krum, trimmed mean": (BENIGN, "-"),
    "No attack": (MUTED, "-"),
}


def trainings() -> dict[str, Result]:
    """Return the finished trainings by their row in the table `paper_network`."""
    found = {}
    for cell in NETWORK_TABLE(n_seeds=1).cells:
        result, _ = find_result(cell.runs[0], runs_folder(RESULTS))
        if result is not None and result.finished:
            found[cell.row] = result
    return found


def rounds_text() -> str:
    """Return accuracy / attack success in three windows, and what the rule let through over all rounds."""
    windows = [f"rounds {end - WINDOW + 1} to {end}" for end in ENDS]
    rows = [["", *windows, "median gain", "median dose"], ["---", *["---:"] * (len(windows) + 2)]]
    for row, result in trainings().items():
        accuracy, success = (result.series(name) for name in ("accuracy", "attack_success"))
        cells = (f"{_share(_window(accuracy, end), 3)} / {_share(_window(success, end), 2)}" for end in ENDS)
        rows.append([row, *cells, *(_median(result.series(name)) for name in ("gain", "dose"))])
    return grid(rows)


def rounds_figure() -> Any:
    """Return attack success and accuracy over the rounds, as running means of ten."""
    figure = new_figure(10, 4.2)
    figure.suptitle(
        "ResNet-18 from a warm start: means of ten rounds", fontsize=11, x=0.01, ha="left", weight="bold"
    )
    rates = {"attack_success": "attack success", "accuracy": "accuracy"}
    for axes, (name, title) in zip(figure.subplots(1, 2), rates.items(), strict=True):
        for row, result in trainings().items():
            means = np.convolve(np.array(result.series(name)), np.full(WINDOW, 1 / WINDOW), mode="valid")
            colour, dashes = LINES.get(row, (AGGREGATE, "-"))
            axes.plot(np.arange(len(means)) + WINDOW, means, color=colour, ls=dashes, lw=1.6, label=row)
        if name == "attack_success":
            axes.set_ylim(bottom=0)
        axes.set_xlabel("round")
        axes.set_ylabel(title)
        with_grid(axes)
    handles, names = axes.get_legend_handles_labels()
    figure.legend(handles, names, loc="outside lower center", ncols=4, fontsize=8, frameon=False)
    return figure


def _window(rate: Sequence[float | None], end: int) -> float:
    return float(np.mean(rate[end - WINDOW : end]))


def _median(series: Sequence[float | None]) -> str:
    """Return the median of the rounds that have a number."""
    numbers = [number for number in series if number is not None]
    return _share(float(np.median(numbers)), 2) if numbers else "–"


def _share(number: float, places: int) -> str:
    """Return a number as tables print it.

    >>> _share(0.5678, 3), _share(1.0, 2), _share(-0.004, 2)
    ('.568', '1.00', '.00')
    """
    text = f"{number:.{places}f}"
    text = text.removeprefix("-") if float(text) == 0 else text
    return text.replace("0.", ".", 1) if abs(float(text)) < 1 else text
