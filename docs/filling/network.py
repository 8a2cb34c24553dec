"""The paper's own network under its protocols: one table, one figure, and what decides."""

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast.paper.experiment import stored_results
from holdfast.paper.network_table import (
    DECIDES_TABLE,
    LONG_TABLE,
    PROTOCOL_TABLES,
    RELEASED_SETTINGS,
)
from holdfast.paper.table import Table
from holdfast.report.plotting import BENIGN, MALICIOUS, MUTED, new_figure, with_grid

from .grid import grid

Document = Mapping[str, Any]

RESULTS = Path(__file__).parents[2] / "results"

#: The heads of the protocols, in the order of their tables.
HEADS = ("its protocol", "its release, to the letter", "a warm start")
#: Tables that stand here in another form.
PLACED = tuple(table.name for table in (*PROTOCOL_TABLES, DECIDES_TABLE, LONG_TABLE))

#: The attack success swings with who was drawn last: means of ten rounds say more than the last one.
WINDOW = 10

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
#: In place of a number that is not measured.
NOTHING = "–"


def protocols_text(found: Document) -> str:
    """Return accuracy / attack success of every rule under every protocol, beside the printed numbers."""
    tables = [_cells(found, table.name) for table in PROTOCOL_TABLES]
    lines = [["", "the paper prints", *HEADS], ["---"] * (2 + len(HEADS))]
    for row in dict.fromkeys(row for cells in tables for row in cells):
        own = [cells.get(row) for cells in tables]
        printed = next((cell["printed"] for cell in own if cell and cell["printed"]), None)
        lines.append([row, _rates(printed) if printed else "", *map(_measured, own)])
    return grid(lines)


def decides_text(found: Document) -> str:
    """Return plain averaging and the rule under the paper's protocol with one change at a time."""
    cells, long = (_cells(found, table.name) for table in (DECIDES_TABLE, LONG_TABLE))
    lines = [["", "FedAvg", "Invariant (τ 0.6, α 0.45)"], ["---"] * 3]
    for row, cell in cells.items():
        rule, _, change = row.rpartition("), ") if row.startswith("Invariant") else row.partition(", ")
        if rule == "FedAvg":
            lines.append(
                [change, _measured(cell), _measured(cells.get(f"Invariant (τ 0.6, α 0.45), {change}"))]
            )
        elif rule == "Invariant (α 0.45":
            lines.append([change, "", _measured(cell)])
    lines.append(["300 rounds", *(_measured(long.get(row)) for row in ("FedAvg", RELEASED_SETTINGS))])
    return grid(lines)


def _cells(found: Document, name: str) -> dict[str, Document]:
    """Return the cells of a table with one task, by row."""
    return {cell["row"]: cell for one in found["experiments"] if one["name"] == name for cell in one["cells"]}


def _measured(cell: Document | None) -> str:
    """Return the means of the last ten rounds with the interval of the attack success, and the last round."""
    if cell is None:  # nor to be measured
        return ""
    if not cell["measured"]:
        return NOTHING
    measured = cell["measured"]
    ten, last = (
        {name: measured[f"{prefix}{name}"]["mean"] for name in ("accuracy", "attack_success")}
        for prefix in ("last10_", "")
    )
    ends = measured["last10_attack_success"]["interval"]
    spread = " [{}, {}]".format(*(_share(end, 2) for end in ends)) if ends else ", one seed"
    return f"{_rates(ten)}{spread}<br>last: {_rates(last)}"


def _rates(rates: Mapping[str, float]) -> str:
    return f"{_share(rates['accuracy'], 3)} / {_share(rates['attack_success'], 2)}"


def rounds_figure() -> Any:
    """Return attack success and accuracy over the rounds, as running means of ten, under every protocol."""
    figure = new_figure(12, 6)
    title = "The paper's network: means of ten rounds, over the seeds"
    figure.suptitle(title, fontsize=11, x=0.01, ha="left", weight="bold")
    rates = {"attack_success": "attack success", "accuracy": "accuracy"}
    grids = figure.subplots(len(rates), len(HEADS), sharex=True, sharey="row")
    for column, (table, head) in enumerate(zip(PROTOCOL_TABLES, HEADS, strict=True)):
        curves = _curves(table, rates)
        for axes, (name, label) in zip(grids[:, column], rates.items(), strict=True):
            for row, means in curves.items():
                colour, dashes = LINES[row]
                places = np.arange(len(means[name])) + WINDOW
                axes.plot(places, means[name], color=colour, ls=dashes, lw=1.6, label=row)
            if not curves:
                axes.text(
                    0.5,
                    0.5,
                    "not measured yet",
                    color=MUTED,
                    ha="center",
                    va="center",
                    transform=axes.transAxes,
                )
            with_grid(axes)
            if not column:
                axes.set_ylabel(label)
        grids[0, column].set_title(head, fontsize=10)
        grids[-1, column].set_xlabel("round")
    handles = {
        name: handle
        for axes in grids[0]
        for handle, name in zip(*axes.get_legend_handles_labels(), strict=True)
    }
    figure.legend(
        handles.values(), handles.keys(), loc="outside lower center", ncols=4, fontsize=8, frameon=False
    )
    return figure


def _curves(table: Table, rates: Iterable[str]) -> dict[str, dict[str, NDArray[np.float64]]]:
    """Return the running means of ten rounds by row and rate, over the seeds that are finished."""
    curves = {}
    for cell in table().cells:
        stored, _ = stored_results({run.key: run for run in cell.runs}, RESULTS)
        finished = [result for result in stored.values() if result.finished]
        if finished and cell.row in LINES:
            curves[cell.row] = {
                rate: np.mean([_running(result.series(rate)) for result in finished], axis=0)
                for rate in rates
            }
    return curves


def _running(series: Sequence[float | None]) -> NDArray[np.float64]:
    return np.convolve(np.array(series, dtype=float), np.full(WINDOW, 1 / WINDOW), mode="valid")


def _share(number: float, places: int) -> str:
    """Return a number as tables print it.

    >>> _share(0.5678, 3), _share(1.0, 2), _share(-0.004, 2)
    ('.568', '1.00', '.00')
    """
    text = f"{number:.{places}f}"
    text = text.removeprefix("-") if float(text) == 0 else text
    return text.replace("0.", ".", 1) if abs(float(text)) < 1 else text
