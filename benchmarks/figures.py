"""Two figures: how much slower than a mean each rule is, and how time grows."""

from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes

from .machine import one_line
from .summary import measured
from .table import COLUMNS, number, ratios

__all__ = ["draw"]

COLOURS = {
    "holdfast": "#0b6e4f",
    "NumPy": "#8da0cb",
    "torch": "#e78a2f",
    "Flower": "#c9a227",
    "ByzFL, NumPy": "#b07aa1",
    "ByzFL, torch": "#7f4f8a",
}
#: What the growth figure follows, and how it is labelled.
LINES = {
    "mean torch": ("torch.mean(0)", "#444444"),
    "invariant holdfast": ("holdfast: invariant", "#0b6e4f"),
    "rfa holdfast": ("holdfast: rfa", "#55b88f"),
    "trimmed_mean numpy sort": ("NumPy sort: trimmed mean", COLOURS["NumPy"]),
    "trimmed_mean flower": ("Flower: trimmed mean", COLOURS["Flower"]),
    "trimmed_mean byzfl torch": ("ByzFL, torch: trimmed mean", COLOURS["ByzFL, torch"]),
    "rfa byzfl numpy": ("ByzFL, NumPy: rfa", COLOURS["ByzFL, NumPy"]),
}
STYLE = {"font.size": 10, "axes.spines.top": False, "axes.spines.right": False, "figure.dpi": 130}

Summary = dict[str, Any]


def draw(summary: Summary, n_clients: int, dim: int, *, folder: Path) -> None:
    """Write both figures into the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    with plt.rc_context(STYLE):
        draw_ratios(summary, n_clients, dim, folder / "benchmark-ratios.png")
        draw_growth(summary, folder / "benchmark-growth.png")


def draw_ratios(summary: Summary, n_clients: int, dim: int, path: Path) -> None:
    """Draw a bar for each rule and package, on a logarithmic scale of multiples of a mean."""
    found = {rule: row for rule, row in ratios(summary, n_clients, dim).items() if row}
    height = 1.6 + 0.2 * sum(len(row) + 1 for row in found.values())
    figure, axes = plt.subplots(figsize=(8, height), layout="constrained")
    place, ticks = 0.0, []
    for rule, row in found.items():
        bars = [(column, row[column]) for column in COLUMNS if column in row]
        ticks.append((place + (len(bars) - 1) / 2, rule))
        for column, ratio in bars:
            axes.barh(place, ratio - 1, left=1, height=0.86, color=COLOURS[column], label=column)
            weight = "bold" if column == "holdfast" else "normal"
            axes.text(
                max(ratio, 1) * 1.05, place, number(ratio), va="center", fontsize=8.5, fontweight=weight
            )
            place += 1
        place += 1
    axes.set_xscale("log")
    axes.axvline(1, color="#444444", linewidth=0.8)
    axes.xaxis.set_major_formatter(lambda value, _: f"{value:g}×")
    axes.set_yticks([tick for tick, _ in ticks], [rule for _, rule in ticks])
    axes.tick_params(axis="y", length=0)
    axes.invert_yaxis()
    axes.set_xlabel("time as a multiple of torch.mean(0), logarithmic")
    axes.set_title(f"{n_clients} clients × {dim:,} parameters, float32", loc="left", fontsize=11)
    _note(figure, summary, "invariant stands beside the others' trimmed mean")
    named = dict(zip(*reversed(axes.get_legend_handles_labels()), strict=True))
    figure.legend([named[c] for c in COLUMNS if c in named], [c for c in COLUMNS if c in named],
                  loc="outside lower center", ncols=6, frameon=False, fontsize=8.5)  # fmt: skip
    figure.savefig(path)
    plt.close(figure)


def draw_growth(summary: Summary, path: Path) -> None:
    """Draw time over the number of parameters and of clients, with the fitted powers in the legend."""
    figure, (left, right) = plt.subplots(1, 2, figsize=(10, 6), sharey=True, layout="constrained")
    _grow(left, summary, "dim", "in_d", n_clients=20)
    _grow(right, summary, "n_clients", "in_n", dim=1_000_000)
    left.set(title="20 clients", xlabel="parameters d", ylabel="seconds a call")
    right.set(title="1,000,000 parameters", xlabel="clients N")
    _note(figure, summary, "p is the fitted power: time grows as d^p, N^p")
    figure.savefig(path)
    plt.close(figure)


def _grow(axes: Axes, summary: Summary, field: str, power: str, **fixed: int) -> None:
    for name, (label, colour) in LINES.items():
        source, value = (
            ("invariant holdfast", "reference_seconds") if name == "mean torch" else (name, "seconds")
        )
        records = measured(summary["cases"], "time", contender=source, threads=0, **fixed)
        points = sorted((record[field], record[value]) for record in records)
        if points:
            fitted = summary["growth"].get(name, {}).get(power)
            said = label if fitted is None else f"{label}, p = {fitted:.2f}"
            style = "--" if name == "mean torch" else "-"
            axes.plot(*zip(*points, strict=True), style, marker="o", markersize=4, color=colour, label=said)
    axes.set(xscale="log", yscale="log")
    sizes = sorted({x for line in axes.lines for x in line.get_xdata()})
    axes.set_xticks(sizes, [f"{int(x):,}" for x in sizes])
    axes.minorticks_off()
    axes.grid(axis="y", color="#dddddd", linewidth=0.6)
    axes.legend(frameon=False, fontsize=8.5, loc="upper center", bbox_to_anchor=(0.5, -0.14))


def _note(figure: Any, summary: Summary, text: str) -> None:
    said = f"{one_line(summary['machine'])} · {text}"
    figure.suptitle(said, x=0.99, ha="right", fontsize=8, color="#666666")
