"""The tables of a document as text: Markdown, CSV and LaTeX; or the whole document, as JSON."""

import csv
import io
import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType
from typing import Any

from ..errors import InputError
from ..paper.experiment import LAST
from .grids import in_markdown, latex_table, markdown_table
from .worst import worst_texts

__all__ = [
    "SUFFIXES",
    "cells_by_row",
    "check_format",
    "claims_counted",
    "claims_text",
    "document_text",
    "has_more_rounds",
    "lost_rounds",
    "measured_text",
    "printed_text",
    "rounds_text",
    "table_text",
]

Experiment = Mapping[str, Any]
Cell = Mapping[str, Any]

NUMBERS = ("accuracy", "attack_success")
PARTS = ("mean", "std", "variance", "low", "high", "margin")
NOT_MEASURED = "not measured"

#: What is said of one claim, and of several, with each verdict.
CLAIM_VERBS = {
    "holds": ("holds", "hold"),
    "does not hold": ("does not hold", "do not hold"),
    "preliminary": ("is preliminary", "are preliminary"),
    "not measured": ("is not measured", "are not measured"),
}

#: How the file of a report in each format ends.
SUFFIXES = {"html": ".html", "markdown": ".md", "csv": ".csv", "latex": ".tex", "json": ".json"}


def check_format(format: str) -> None:
    """Raise an InputError if a report has no such format."""
    if format not in SUFFIXES:
        raise InputError(f"a report's format must be one of {', '.join(SUFFIXES)}; got {format!r}")


def document_text(document: Mapping[str, Any], format: str) -> str:
    """Return all tables of a document, one after the other; Markdown begins with the claims of the paper."""
    if format == "json":
        return json.dumps(document, indent=1, allow_nan=False) + "\n"
    tables = [table_text(one, format, scale=document["scale"]) for one in document["experiments"]]
    if format == "markdown" and document["claims"]:
        return "\n".join(["## Claims\n", claims_text(document["claims"]), "## Tables\n", *tables])
    if format == "csv":  # one table, with one head
        return "".join(table if not place else table.partition("\n")[2] for place, table in enumerate(tables))
    return "\n".join(tables)


def cells_by_row(experiment: Experiment) -> list[tuple[str, list[Cell | None]]]:
    """Return every row of a table with its cells, in the order of the columns; None where there is none."""
    by_place = {(cell["row"], cell["column"]): cell for cell in experiment["cells"]}
    columns = experiment["columns"]
    return [(row, [by_place.get((row, column)) for column in columns]) for row in experiment["rows"]]


def has_more_rounds(experiment: Experiment) -> bool:
    """Return whether some run has more than the ten rounds that are averaged beside the last one.

    >>> [has_more_rounds({"cells": [{"measured": {"longest": n_rounds}}]}) for n_rounds in (10, 11)]
    [False, True]
    """
    measured = [cell["measured"] for cell in experiment["cells"] if cell["measured"]]
    return any(own.get("longest", LAST + 1) > LAST for own in measured)


def rounds_text(experiment: Experiment) -> str:
    """Say which rounds the numbers of a table are from.

    >>> rounds_text({}), rounds_text({"n_last": 5})
    ('after the last round', 'as means of the last 5 rounds')
    """
    n_last = experiment.get("n_last", 1)
    return "after the last round" if n_last == 1 else f"as means of the last {n_last} rounds"


def lost_rounds(experiment: Experiment) -> str:
    """Return in words which runs have rounds that aggregated nothing; nothing if none has.

    >>> cells = [{"row": "mine", "column": "no attack", "measured": {"n_lost": 2, "n_rounds": 9}}]
    >>> lost_rounds({"cells": cells})
    'Rounds in which nothing was aggregated, and the model stayed as it was: mine, no attack: 2 of 9.'
    """
    lost = [
        f"{cell['row']}, {cell['column']}: {cell['measured']['n_lost']} of {cell['measured']['n_rounds']}"
        for cell in experiment["cells"]
        if (cell["measured"] or {}).get("n_lost")
    ]
    words = "Rounds in which nothing was aggregated, and the model stayed as it was: "
    return f"{words}{'; '.join(lost)}." if lost else ""


def measured_text(cell: Cell) -> str:
    """Return what was measured, as accuracy / attack success, with the deviation where there are seeds."""
    measured, n_seeds = cell["measured"], cell["n_seeds"]
    if measured is None:
        return NOT_MEASURED
    numbers = " / ".join(_spread(measured[name], n_seeds) for name in NUMBERS)
    few = f" ({n_seeds} of {cell['n_wanted']} seeds)" if n_seeds < cell["n_wanted"] else ""
    return numbers + few


def printed_text(cell: Cell) -> str:
    """Return what the paper prints there, as accuracy / attack success."""
    if cell["printed"] is None:
        return ""
    numbers = " / ".join(_share(cell["printed"][name]) for name in NUMBERS)
    return numbers + (f" on {cell['stands_in_for']}" if cell["stands_in_for"] else "")


def table_text(experiment: Experiment, format: str, *, scale: str | None) -> str:
    """Return a table in this format: markdown, csv or latex. What is not the paper's has no scale: None."""
    if format not in FORMATS:
        raise InputError(f"a table's format must be one of {', '.join(FORMATS)}; got {format!r}")
    return FORMATS[format](experiment, scale)


def claims_text(claims: list[Mapping[str, Any]]) -> str:
    """Return what holds of the claims, as a Markdown table."""
    head = ("claim", "task", "verdict", "numbers", "scale")
    rows = [(f"{one['source']}: {one['text']}", *(str(one[name]) for name in head[1:])) for one in claims]
    return markdown_table([head, *rows])


def claims_counted(claims: Iterable[Mapping[str, Any]]) -> str:
    """Return how many claims hold and how many do not, in words; nothing if there are none.

    >>> claims_counted([{"verdict": "holds"}, {"verdict": "does not hold"}, {"verdict": "does not hold"}])
    '1 claim holds, 2 do not hold'
    """
    counts = Counter(str(one["verdict"]) for one in claims)
    first = next(iter(verdict for verdict in CLAIM_VERBS if counts[verdict]), None)
    words = []
    for verdict, (one, many) in CLAIM_VERBS.items():
        if count := counts[verdict]:
            claim = f" claim{'s' * (count != 1)}" if verdict == first else ""
            words.append(f"{count}{claim} {one if count == 1 else many}")
    return ", ".join(words)


def _markdown(experiment: Experiment, scale: str | None) -> str:
    table = markdown_table(_grid(experiment))
    title, legend = in_markdown(experiment["title"]), in_markdown(_legend(experiment, scale))
    return f"### {title}\n\n{legend}\n\n{table}"


def _csv(experiment: Experiment, scale: str | None) -> str:
    names = [f"{name}_{part}" for name in NUMBERS for part in PARTS]
    names += [f"last10_{name}_mean" for name in NUMBERS]
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n")
    own = ("row", "column", "attack", "defence", "stands_in_for", "n_seeds", "n_wanted")
    write.writerow(["experiment", "scale", *own, *names, *(f"printed_{name}" for name in NUMBERS)])
    for cell in experiment["cells"]:
        measured, printed = cell["measured"] or {}, cell["printed"] or {}
        numbers = [_part(measured, name) for name in names]
        write.writerow(
            [experiment["name"], scale, *(cell[name] for name in own), *numbers]
            + [printed.get(name) for name in NUMBERS]
        )
    return text.getvalue()


def _latex(experiment: Experiment, scale: str | None) -> str:
    caption = f"{experiment['title']}. {_legend(experiment, scale)}"
    return latex_table(_grid(experiment), caption=caption)


FORMATS: Mapping[str, Callable[[Experiment, str | None], str]] = MappingProxyType(
    {"markdown": _markdown, "csv": _csv, "latex": _latex}
)


def _legend(experiment: Experiment, scale: str | None) -> str:
    if experiment.get("over_attacks"):
        return f"Means of the seeds after the last round. {experiment['note']}"
    printed_by = experiment.get("printed_by", "the paper")
    beside = "" if scale is None else f", at the scale {scale}; in brackets what {printed_by} prints"
    return (
        f"Accuracy / attack success {rounds_text(experiment)}, mean ± standard deviation of the seeds"
        f"{beside}. {experiment['note']} {lost_rounds(experiment)}"
    ).strip()


def _grid(experiment: Experiment) -> list[list[str]]:
    """Return the head and the rows; of attacks by the dozen, the worst of them for each defence."""
    if experiment.get("over_attacks"):
        return worst_texts(experiment)
    rows = [[row, *map(_cell_text, cells)] for row, cells in cells_by_row(experiment)]
    return [["", *experiment["columns"]], *rows]


def _cell_text(cell: Cell | None) -> str:
    """Return what was measured and, in brackets, what is printed."""
    if cell is None:
        return ""
    printed = printed_text(cell)
    return measured_text(cell) + (f" [{printed}]" if printed else "")


def _part(measured: Mapping[str, Any], name: str) -> float | None:
    whole, _, part = name.rpartition("_")
    spread = measured.get(whole)
    return None if spread is None else spread.get(part)


def _spread(spread: Mapping[str, Any] | None, n_seeds: int) -> str:
    if spread is None:
        return "-"
    return _share(spread["mean"]) + (f" ±{_share(spread['std'])}" if n_seeds > 1 else "")


def _share(number: float) -> str:
    return f"{number:.3f}".removeprefix("0")
