"""What hangs on one setting: accuracy and attack success over its values, a panel a task."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .plotting import BENIGN, MALICIOUS, MUTED, new_figure, save, without_frame

__all__ = ["draw_sensitivity"]

LINES = {
    "accuracy": ("Acc: clean inputs answered rightly", BENIGN, "o", "-"),
    "attack_success": ("ASR: backdoored inputs that get the attackers' label", MALICIOUS, "s", "--"),
}


def draw_sensitivity(
    experiment: Mapping[str, Any], folder: Path, *, scale: str, formats: tuple[str, ...] = ("png", "svg")
) -> dict[str, Any] | None:
    """Draw an experiment of a document, and return the figure as the document has it; None if it is empty.

    >>> empty = {"name": "figure6a", "axis": "τ", "title": "", "cells": [], "columns": []}
    >>> draw_sensitivity(empty, Path("figures"), scale="cpu")
    """
    cells = [cell for cell in experiment["cells"] if cell["measured"] is not None]
    tasks = [task for task in experiment["columns"] if any(cell["task"] == task for cell in cells)]
    if not tasks:
        return None
    figure = new_figure(1.2 + 3.6 * len(tasks), 3.6)
    panels = figure.subplots(1, len(tasks), sharey=True, squeeze=False)[0]
    for axes, task in zip(panels, tasks, strict=True):
        _panel(axes, [cell for cell in cells if cell["task"] == task], experiment["axis"])
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside lower center", ncols=2, frameon=False, fontsize=9)
    figure.suptitle(f"{experiment['title']} (scale {scale})", fontsize=11, x=0.01, ha="left", weight="bold")
    files = {ending: save(figure, folder / f"{experiment['name']}.{ending}") for ending in formats}
    caption = (
        f"The invariant aggregator over {experiment['axis']}: mean of the seeds after the last round, bars"
        f" from the lowest to the highest, at scale {scale}."
    )
    return {
        "name": experiment["name"],
        "caption": caption,
        "files": {ending: str(path) for ending, path in files.items()},
    }


def _panel(axes: Any, cells: list[Mapping[str, Any]], axis: str) -> None:
    from matplotlib.ticker import PercentFormatter

    for name, (label, colour, marker, style) in LINES.items():
        points = [(cell["x"], cell["measured"][name]) for cell in cells if cell["measured"][name]]
        x, spreads = [place for place, _ in points], [spread for _, spread in points]
        means = [spread["mean"] for spread in spreads]
        below = [spread["mean"] - spread["low"] for spread in spreads]
        above = [spread["high"] - spread["mean"] for spread in spreads]
        axes.errorbar(
            x,
            means,
            yerr=[below, above],
            color=colour,
            marker=marker,
            ls=style,
            lw=1.8,
            capsize=3,
            label=label,
        )
    task, stands_in = cells[0]["task"], cells[0]["stands_in_for"]
    axes.set_title(task + (f", for {stands_in}" if stands_in else ""), fontsize=10, loc="left")
    axes.set_xlabel(axis)
    axes.set_ylim(-0.03, 1.03)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.grid(axis="y", color="#e4e6ea", lw=0.8)
    axes.tick_params(colors=MUTED, labelcolor="black")
    without_frame(axes)
