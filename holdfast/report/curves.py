"""Accuracy and attack success by round, a line a defence."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..runs.results import Result
from .comparison import Standing
from .plotting import MUTED, new_figure, save, without_frame

__all__ = ["curves", "draw_curves"]

#: Told apart by those who see few colours, too (Okabe and Ito, without the yellow); then again, dashed.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#4d4d4d", "#e69f00", "#56b4e9")
STYLES = ("-", (0, (4, 2)), (0, (1, 1.5)))
PANELS = {
    "accuracy": "Accuracy: clean inputs answered rightly",
    "attack_success": "Attack success: inputs with the backdoor\nthat get the attackers' label",
}


def draw_curves(standings: Sequence[Standing], path: Path, *, title: str) -> Path:
    """Draw the curves into a file, and return it.

    >>> import tempfile
    >>> draw_curves([], Path(tempfile.mkdtemp()) / "curves.png", title="nothing").name
    'curves.png'
    """
    return save(curves(standings, title=title), path)


def curves(standings: Sequence[Standing], *, title: str) -> Any:
    """Return the figure: the mean over the seeds, in a band from the lowest to the highest.

    >>> len(curves([], title="nothing").axes)
    2
    """
    figure = new_figure(10, 4.2)
    figure.suptitle(title, fontsize=11, x=0.01, ha="left", weight="bold")
    panels = figure.subplots(1, 2, sharex=True)
    for axes, (name, heading) in zip(panels, PANELS.items(), strict=True):
        for place, standing in enumerate(standings):
            colour = COLOURS[place % len(COLOURS)]
            style = STYLES[place // len(COLOURS) % len(STYLES)]
            _curve(axes, standing.attacked, name, standing.defence, colour, style)
        _furnish(axes, heading)
    if not any(standing.attack_success for standing in standings):
        panels[1].text(
            0.5, 0.5, "no backdoor in this attack", transform=panels[1].transAxes, ha="center", color=MUTED
        )
    if any(len(standing.attacked) > 1 for standing in standings):
        figure.supxlabel("Lines: mean of the seeds. Bands: lowest to highest.", fontsize=9, color=MUTED)
    if standings:
        handles, labels = panels[0].get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside right center", frameon=False, fontsize=9)
    return figure


def _curve(axes: Any, results: Sequence[Result], name: str, label: str, colour: str, style: Any) -> None:
    numbers = np.array([result.series(name) for result in results], dtype=np.float64)  # None becomes NaN
    if numbers.size == 0 or np.isnan(numbers).any():
        return
    rounds = np.arange(1, numbers.shape[1] + 1)
    marker = "o" if len(rounds) == 1 else None
    axes.plot(rounds, numbers.mean(axis=0), color=colour, ls=style, lw=1.8, label=label, marker=marker)
    if len(numbers) > 1:
        axes.fill_between(rounds, numbers.min(axis=0), numbers.max(axis=0), color=colour, alpha=0.13, lw=0)


def _furnish(axes: Any, heading: str) -> None:
    from matplotlib.ticker import MaxNLocator, PercentFormatter

    axes.set_title(heading, fontsize=10, loc="left")
    axes.set_xlabel("round")
    axes.set_ylim(-0.02, 1.02)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.grid(axis="y", color="#e4e6ea", lw=0.8)
    axes.set_axisbelow(True)
    without_frame(axes)
