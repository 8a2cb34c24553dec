"""Figures of runs: accuracy and attack success by round, or over the values of one setting."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .plotting import BENIGN, MALICIOUS, MUTED, new_figure, with_grid

__all__ = ["band", "curves", "sensitivity"]

#: Distinct to the colour-blind, too (Okabe and Ito, without the yellow); then again, dashed.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#4d4d4d", "#e69f00", "#56b4e9")
STYLES = ("-", (0, (4, 2)), (0, (1, 1.5)))
PANELS = {
    "accuracy": "Accuracy: clean inputs answered correctly",
    "attack_success": "Attack success: inputs with the backdoor\nthat get the attackers' label",
}
LINES = {
    "accuracy": ("Acc: clean inputs answered correctly", BENIGN, "o", "-"),
    "attack_success": ("ASR: backdoored inputs that get the attackers' label", MALICIOUS, "s", "--"),
}

#: Of one run, the numbers of every round by name; None where there is none.
Series = Mapping[str, Sequence[float | None]]


def curves(lines: Mapping[str, Sequence[Series]], *, title: str) -> Any:
    """Return accuracy and attack success by round, one line per name: the mean of its runs in a band."""
    figure = new_figure(10, 4.2)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left", weight="bold")
    panels = figure.subplots(1, 2, sharex=True)
    for axes, (name, heading) in zip(panels, PANELS.items(), strict=True):
        for place, (label, runs) in enumerate(lines.items()):
            colour, style = COLOURS[place % len(COLOURS)], STYLES[place // len(COLOURS) % len(STYLES)]
            numbers = np.array([run[name] for run in runs], dtype=np.float64)  # None becomes NaN
            if numbers.size and not np.isnan(numbers).any():
                band(axes, np.arange(1, numbers.shape[1] + 1), numbers, colour, label, style)
        _furnish(axes, heading)
    if not panels[1].lines:
        panels[1].text(
            0.5, 0.5, "no backdoor in this attack", transform=panels[1].transAxes, ha="center", color=MUTED
        )
    if any(len(runs) > 1 for runs in lines.values()):
        figure.supxlabel("Lines: mean of the seeds. Bands: lowest to highest.", fontsize=9, color=MUTED)
    figure.legend(
        *panels[0].get_legend_handles_labels(), loc="outside right center", frameon=False, fontsize=9
    )
    return figure


def sensitivity(experiment: Mapping[str, Any], *, scale: str) -> Any:
    """Return accuracy and attack success over the values of one setting, one panel per task."""
    cells = [cell for cell in experiment["cells"] if cell["measured"] is not None]
    tasks = [task for task in experiment["columns"] if any(cell["task"] == task for cell in cells)]
    figure = new_figure(1.2 + 3.6 * len(tasks), 3.6)
    panels = figure.subplots(1, len(tasks), sharex=True, sharey=True, squeeze=False)[0]
    for axes, task in zip(panels, tasks, strict=True):
        _panel(axes, [cell for cell in cells if cell["task"] == task], experiment["axis"])
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    figure.suptitle(f"{experiment['title']} (scale {scale})", fontsize=11, x=0.01, ha="left", weight="bold")
    return figure


def band(axes: Any, x: Any, rows: Any, colour: str, label: str, style: Any) -> None:
    """Draw the mean of some rows, in a band from the lowest to the highest."""
    numbers = np.asarray(rows, dtype=np.float64)
    marker = "o" if numbers.shape[1] == 1 else None
    axes.plot(x, numbers.mean(axis=0), color=colour, ls=style, lw=1.8, label=label, marker=marker)
    if len(numbers) > 1:
        axes.fill_between(x, numbers.min(axis=0), numbers.max(axis=0), color=colour, alpha=0.13, lw=0)


def _panel(axes: Any, cells: Sequence[Mapping[str, Any]], axis: str) -> None:
    for name, (label, colour, marker, style) in LINES.items():
        points = [(cell["x"], cell["measured"][name]) for cell in cells if cell["measured"][name]]
        means = np.array([spread["mean"] for _, spread in points])
        around = np.array([[spread["low"], spread["high"]] for _, spread in points]).reshape(-1, 2).T
        axes.errorbar(
            [x for x, _ in points],
            means,
            yerr=np.abs(around - means),
            color=colour,
            marker=marker,
            ls=style,
            lw=1.8,
            capsize=3,
            label=label,
        )
    task, stands_in = cells[0]["task"], cells[0]["stands_in_for"]
    _furnish(axes, task + (f", for {stands_in}" if stands_in else ""), axis)
    axes.tick_params(colors=MUTED, labelcolor="black")


def _furnish(axes: Any, heading: str, axis: str = "round") -> None:
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    axes.set_title(heading, fontsize=10, loc="left")
    axes.set_xlabel(axis)
    axes.set_ylim(-0.03, 1.03)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    if axis == "round":
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    with_grid(axes)
