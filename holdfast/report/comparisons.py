"""Defences side by side as a table: plain text, Markdown, LaTeX, CSV, or HTML for a notebook."""

import csv
import io
from collections.abc import Callable, Mapping
from textwrap import fill
from types import MappingProxyType
from typing import Any

from ..errors import InputError
from ..paper.comparison import ATTACKED, HONEST
from .grids import html_table, in_markdown, latex_table, markdown_table, on_one_line, text_table
from .kit import ABSENT, counted, margin, written
from .tables import cells_by_row, has_more_rounds, lost_rounds

__all__ = ["NUMBERS", "comparison_rows", "comparison_text"]

Experiment = Mapping[str, Any]
Spread = Mapping[str, Any]

WIDEST = 80  # columns of a terminal that a table fits into if it can

#: What is shown of a defence: [its name] the title, the column of the experiment, the number in its cells.
NUMBERS: Mapping[str, tuple[str, str, str]] = MappingProxyType(
    {
        "accuracy": ("Acc", ATTACKED, "accuracy"),
        "minority_accuracy": ("Acc, minority", ATTACKED, "minority_accuracy"),
        "attack_success": ("ASR", ATTACKED, "attack_success"),
        "n_found": ("found", ATTACKED, "n_found"),
        "n_wronged": ("wrongly", ATTACKED, "n_wronged"),
        "honest_accuracy": ("Acc, no attack", HONEST, "accuracy"),
        "honest_minority_accuracy": ("Acc, minority, no attack", HONEST, "minority_accuracy"),
        "honest_success": ("ASR, no attack", HONEST, "attack_success"),
        "honest_n_wronged": ("wrongly, no attack", HONEST, "n_wronged"),
    }
)

#: What is told of each number: [what] where a measured cell has it.
PARTS: Mapping[str, Callable[[Mapping[str, Any], str], Spread | None]] = MappingProxyType(
    {
        "last": lambda measured, number: measured.get(number),
        "last10": lambda measured, number: measured.get(f"last10_{number}"),
        "against": lambda measured, number: measured.get("against", {}).get(number),
    }
)


def comparison_text(experiment: Experiment, format: str) -> str:
    """Return the experiment of a comparison in this format: text, markdown, latex, csv or html.

    Numbers are means over the seeds, ± half the width of the 95 % interval where there are several. If the
    experiment has a baseline, the difference to it stands beneath, with a * if its interval excludes 0.

    >>> nothing = {"title": "digits", "note": "3 rounds.", "rows": ["mine"], "columns": [], "cells": []}
    >>> comparison_text(nothing, "text").splitlines()[:5]
    ['digits; 3 rounds.', '', 'defence', '-------', 'mine']
    """
    if format not in FORMATS:
        raise InputError(f"a comparison's format must be one of {', '.join(FORMATS)}; got {format!r}")
    return FORMATS[format](experiment)


def comparison_rows(experiment: Experiment) -> list[dict[str, Any]]:
    """Return one flat dictionary per defence: each number with its spread, its interval and its difference.

    The names are those of a CSV file: accuracy_mean, last10_accuracy_mean, accuracy_against_p, ...

    >>> comparison_rows({"rows": ["mine"], "columns": [], "cells": []})
    [{'defence': 'mine'}]
    """
    found = {part: _numbers(experiment, part) for part in PARTS}
    heads = {"last": "{}", "last10": "last10_{}", "against": "{}_against"}
    return [
        {"defence": row}
        | {
            f"{head.format(name)}_{key}": value
            for name in _shown(experiment)
            for part, head in heads.items()
            if any(name in own for own in found[part].values())
            for key, value in _flat(found[part][row].get(name), tested=part == "against").items()
        }
        for row in experiment["rows"]
    ]


def _numbers(experiment: Experiment, part: str) -> dict[str, dict[str, Spread]]:
    """Return [defence][number] what was measured, of one of the PARTS."""
    found: dict[str, dict[str, Spread]] = {}
    for row, cells in cells_by_row(experiment):
        measured = {cell["column"]: cell["measured"] or {} for cell in cells if cell is not None}
        spreads = {
            name: PARTS[part](measured.get(column, {}), number)
            for name, (_, column, number) in NUMBERS.items()
        }
        found[row] = {name: spread for name, spread in spreads.items() if spread is not None}
    return found


def _shown(experiment: Experiment) -> list[str]:
    """Return the numbers that any defence has."""
    found = _numbers(experiment, "last").values()
    return [name for name in NUMBERS if any(name in own for own in found)]


def _flat(spread: Spread | None, *, tested: bool) -> dict[str, Any]:
    names = ("mean", "std", "low", "high", *(("p", "p_flips", "excludes_zero") if tested else ()))
    ends = (spread or {}).get("interval") or (None, None)
    own = {name: (spread or {}).get(name) for name in names}
    return own | dict(zip(("interval_low", "interval_high"), ends, strict=True))


def _grid(
    experiment: Experiment, told: Callable[[str, Spread, str], str], *, absent: str = ABSENT
) -> list[list[str]]:
    """Return the head, and for each defence its numbers, those of the last ten rounds, and the differences.

    `told` turns a number's name, its spread and the part that it is into a text.
    """
    shown = _shown(experiment)
    found = {part: _numbers(experiment, part) for part in PARTS}
    against = f"  against {experiment.get('baseline')}"
    tail = {"last10": "  last 10 rounds"} if has_more_rounds(experiment) else {}
    grid = [["defence", *(NUMBERS[name][0] for name in shown)]]
    for row in experiment["rows"]:
        for part, label in {"last": row, **tail, "against": against}.items():
            own = found[part][row]
            if own or part == "last":
                grid.append(
                    [label, *(told(name, own[name], part) if name in own else absent for name in shown)]
                )
    return grid


def _around(name: str, spread: Spread, part: str) -> str:
    """Return the mean ± its margin; of a difference with its sign, and a * where the interval excludes 0."""
    sign, around = "+" if part == "against" else "", spread["margin"]
    text = _number(name, spread["mean"], sign)
    text += "" if around is None else f" ±{margin(around, NUMBERS[name][2])}"
    return text + "*" * (part == "against" and spread["excludes_zero"])


def _apart(name: str, spread: Spread, part: str) -> str:
    """Return the interval, the numbers of the seeds and, of a difference, how likely it is by chance."""
    values = ", ".join(_number(name, value) for value in spread["values"])
    if spread["interval"] is None:
        return f"one seed: {values}"
    low, high = (_number(name, end) for end in spread["interval"])
    words = [f"95 % interval {low} to {high}", f"seed by seed {values}"]
    words += [f"lowest {_number(name, spread['low'])}, highest {_number(name, spread['high'])}"]
    if part == "against":
        words += [f"p = {spread['p']:.2g} by the paired t test"]
        words += [f"p = {flips:.2g} by flipped signs"] if (flips := spread["p_flips"]) is not None else []
    return "; ".join(words)


def _number(name: str, value: float, sign: str = "") -> str:
    return written(value, NUMBERS[name][2], sign)


def _legend(experiment: Experiment) -> str:
    """Return what the table shows, in words."""
    shown = _shown(experiment)
    beneath = ["the mean of the last ten rounds"] * has_more_rounds(experiment)
    beneath += ["the difference to the baseline, seed by seed"] * (experiment.get("baseline") is not None)
    seeds = [cell["seeds"] for cell in experiment["cells"] if cell["measured"]]
    which = f" ({', '.join(map(str, seeds[0]))})" if seeds and all(own == seeds[0] for own in seeds) else ""
    words = [
        "In percent. Acc: clean inputs answered correctly.",
        "Minority: the same in the form that a minority has them in." * ("minority_accuracy" in shown),
        "ASR: inputs with the backdoor that get the attackers' label; without an attack, those that get it"
        " anyway.",
        "Found: attackers that the watch expelled; wrongly: honest clients." * ("n_found" in shown),
        f"The mean of {counted(map(len, seeds), 'seed')}{which} after the last round"
        + " ± half of its 95 % interval" * any(len(own) > 1 for own in seeds)
        + f"; beneath it {', and '.join(beneath)}" * bool(beneath)
        + ".",
        "* The 95 % interval of the difference excludes 0; none is widened for the number of comparisons."
        * any(_numbers(experiment, "against").values()),
        lost_rounds(experiment),
    ]
    return " ".join(filter(None, words))


def _text(experiment: Experiment) -> str:
    title = on_one_line(f"{experiment['title']}; {experiment['note']}")
    plain = str.maketrans("−–", "--")  # for any terminal
    grid = [[name, *(text.translate(plain) for text in texts)] for name, *texts in _grid(experiment, _around)]
    tables = [text_table(grid)]
    if len(tables[0].partition("\n")[0]) > WIDEST:  # under attack, and without, one beneath the other
        place = 1 + sum(NUMBERS[name][1] == ATTACKED for name in _shown(experiment))
        tables = [
            text_table([row[:place] for row in grid]),
            text_table([row[:1] + row[place:] for row in grid]),
        ]
    return "\n".join([title, "", *tables, fill(on_one_line(_legend(experiment)), WIDEST)]) + "\n"


def _markdown(experiment: Experiment) -> str:
    title = in_markdown(experiment["title"])
    told = in_markdown(f"{experiment['note']} {_legend(experiment)}")
    return f"### {title}\n\n{told}\n\n{markdown_table(_grid(experiment, _around))}"


def _latex(experiment: Experiment) -> str:
    caption = f"{experiment['title']}. {experiment['note']} {_legend(experiment)}"
    return latex_table(_grid(experiment, _around), caption=caption)


def _html(experiment: Experiment) -> str:
    caption = f"{experiment['title']}; {experiment['note']} {_legend(experiment)}"
    hints = _grid(experiment, _apart, absent="")
    return html_table(_grid(experiment, _around), hints=hints, caption=caption)


def _csv(experiment: Experiment) -> str:
    rows = comparison_rows(experiment)
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


FORMATS: Mapping[str, Callable[[Experiment], str]] = MappingProxyType(
    {"text": _text, "markdown": _markdown, "latex": _latex, "csv": _csv, "html": _html}
)
