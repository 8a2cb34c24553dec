"""The README's table: each rule's time beside its peers', as multiples of a plain mean."""

from pathlib import Path
from typing import Any

from .contenders import RULES
from .machine import one_line
from .summary import measured

__all__ = ["details", "lines", "ratios", "write_between_markers"]

START, END = "<!-- benchmark:start -->", "<!-- benchmark:end -->"

#: Columns; where a package has two ways, the faster counts.
COLUMNS = {
    "holdfast": ("holdfast",),
    "NumPy": ("numpy sort", "numpy partition"),
    "torch": ("torch",),
    "Flower": ("flower", "flower records"),
    "ByzFL, NumPy": ("byzfl numpy",),
    "ByzFL, torch": ("byzfl torch",),
}
#: Nobody else has the invariant rule; it is held against the others' trimmed mean, which is a part of it.
HELD_AGAINST = {"invariant": "trimmed_mean"}

Summary = dict[str, Any]


def ratios(summary: Summary, n_clients: int, dim: int) -> dict[str, dict[str, float]]:
    """Return {rule: {column: time as a multiple of torch.mean}} of what was measured at this size."""
    records = measured(summary["cases"], "time", n_clients=n_clients, dim=dim, threads=0)
    by_name = {record["contender"]: record["ratio"] for record in records}
    found: dict[str, dict[str, float]] = {}
    for rule in RULES:
        found[rule] = {}
        for column, peers in COLUMNS.items():
            held = rule if column == "holdfast" else HELD_AGAINST.get(rule, rule)
            times = [by_name[f"{held} {peer}"] for peer in peers if f"{held} {peer}" in by_name]
            if times:
                found[rule][column] = min(times)
    return found


def lines(summary: Summary, n_clients: int, dim: int) -> list[str]:
    """Return the table and the sentences below it, as Markdown."""
    table = [f"| rule | {' | '.join(COLUMNS)} | speed-up |", "| --- |" + " ---: |" * (len(COLUMNS) + 1)]
    for rule, row in ratios(summary, n_clients, dim).items():
        if "holdfast" not in row:
            continue
        cells = [number(row[column]) if column in row else "–" for column in COLUMNS]
        ours, theirs = (
            row["holdfast"],
            [row[column] for column in COLUMNS if column in row and column != "holdfast"],
        )
        gain = (
            " to ".join(dict.fromkeys(number(time / ours) for time in (min(theirs), max(theirs))))
            if theirs
            else "–"
        )
        table.append(f"| `{rule}` | **{cells[0]}** | {' | '.join(cells[1:])} | {gain} × |")
    return [
        f"Time as a multiple of `torch.mean(0)`, {n_clients} clients, {dim:,} parameters, float32",
        f"({one_line(summary['machine'])}):",
        "",
        *table,
        "",
        *notes(summary, n_clients, dim),
    ]


def notes(summary: Summary, n_clients: int, dim: int) -> list[str]:
    """Return what the table does not show, one sentence per line."""
    said = [
        "`invariant` stands beside the others' trimmed mean, which is a part of it: nobody else has it.",
        "A dash: the peer has no such rule, or cannot do it at this size.",
    ]
    memory = [
        record["extra_bytes"]
        for record in measured(summary["cases"], "memory", n_clients=n_clients, dim=dim)
        if record["contender"].endswith(" holdfast")
    ]
    if memory:
        said += [
            f"Beyond inputs and output holdfast needs at most {max(memory) / 1e6:.0f} MB here; rules that",
            "compare clients also hold the products of all pairs, 8 n² bytes: 800 MB for 10,000 clients.",
        ]
    first = measured(summary["cases"], "first_call")
    if first:
        empty = max(record["empty_cache_seconds"] for record in first)
        filled = max(record["filled_cache_seconds"] for record in first)
        said.append(
            f"The first call of a rule takes at most {empty:.1f} s; in later processes, {filled:.2f} s."
        )
    return said


def details(summary: Summary) -> list[str]:
    """Return what is shown beside the table: nanoseconds per value on one thread, and how times grow.

    >>> details({"ns_per_value": {"median holdfast": {"2x5": 1.0}}, "growth": {}})[-1]
    '| median holdfast | 1.0 | – | – |'
    """
    per_value, growth = summary.get("ns_per_value", {}), summary.get("growth", {})
    sizes = list(dict.fromkeys(size for found in per_value.values() for size in found))
    lines = [
        "Nanoseconds per value on one thread (reading: every value once, which bounds all), and the powers",
        "of the number of parameters d and of clients n that times grow with:",
        "",
        f"| | {' | '.join(sizes)} | d | n |",
        "| --- |" + " ---: |" * (len(sizes) + 2),
    ]
    for name in sorted(per_value, key=lambda name: (name not in ("reading", "mean torch"), name)):
        grown = growth.get(name, {})
        cells = [per_value[name].get(size) for size in sizes] + [grown.get("in_d"), grown.get("in_n")]
        shown = ["–" if cell is None else number(cell) for cell in cells]
        lines.append(f"| {name} | {' | '.join(shown)} |")
    return lines


def number(value: float) -> str:
    """Return two digits of a ratio, no more are certain.

    >>> number(1.234), number(12.34), number(123.4)
    ('1.2', '12', '120')
    """
    return f"{value:.1f}" if value < 9.95 else f"{float(f'{value:.2g}'):.0f}"


def write_between_markers(path: Path, text: list[str]) -> None:
    """Replace what stands between the two markers of a file."""
    before, found, rest = path.read_text().partition(START)
    _, also_found, after = rest.partition(END)
    if not (found and also_found):
        raise ValueError(f"{path.name} needs the markers {START} and {END}, in this order")
    path.write_text("\n".join([before + START, *text, END + after]))
