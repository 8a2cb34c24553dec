"""A section an experiment: its table, ours beside the printed; and the heat map of all of them."""

from collections.abc import Mapping, Sequence
from typing import Any

from .elements import Markup, breakable, element, joined
from .pictures import figure_of
from .shown import ABSENT, counted, is_number, level, part, percent

__all__ = ["experiment_section", "heat_section"]

#: What a table shows of a cell: its title, and its name after the last round and over the last ten.
MEASURES = (
    ("Acc", "accuracy", "last10_accuracy"),
    ("ASR", "attack_success", "last10_attack_success"),
)


def experiment_section(experiment: Mapping[str, Any], place: int) -> Markup:
    """Return the section of one table or figure; the browser draws the curves into it.

    >>> empty = {"name": "x", "title": "Nothing", "note": "", "rows": [], "columns": [], "cells": []}
    >>> experiment_section(empty, 0).startswith('<section id="experiment-0"')
    True
    """
    measured = any(cell["measured"] for cell in experiment["cells"])
    drawn = [
        element("div", class_="curves", data_experiment=place),
        element("div", class_="clients", data_experiment=place),
        element("details", element("summary", "Runs"), class_="runs", data_experiment=place),
    ]
    return element(
        "section",
        element("h2", str(experiment["title"]), id=f"title-{place}"),
        element("p", str(experiment["note"])) if experiment.get("note") else None,
        _table(experiment, place) if experiment["cells"] else None,
        *(figure_of(figure) for figure in experiment.get("figures") or ()),
        *(drawn if measured else ()),
        _studies(experiment.get("studies")),
        id=f"experiment-{place}",
        aria_labelledby=f"title-{place}",
    )


def _table(experiment: Mapping[str, Any], place: int) -> Markup:
    cells = {(cell["row"], cell["column"]): cell for cell in experiment["cells"]}
    columns, rows = experiment["columns"], experiment["rows"]
    caption = element(
        "caption",
        element("span", "In percent: ours, and beneath it what the paper prints."),
    )
    corner = element("td", rowspan=2, class_="corner")
    groups = (_column_head(column, experiment["cells"]) for column in columns)
    titles = [element("th", title, scope="col") for _ in columns for title, *_ in MEASURES]
    head = element("thead", element("tr", corner, *groups), element("tr", *titles))
    body = [
        element(
            "tr",
            element("th", breakable(str(row)), scope="row"),
            *(_cell(cells.get((row, column)), *measure) for column in columns for measure in MEASURES),
        )
        for row in rows
    ]
    table = element("table", caption, head, element("tbody", *body), class_="numbers", id=f"table-{place}")
    scrolled = element(
        "div", table, class_="scrolled", tabindex=0, role="region", aria_label=f"Table: {experiment['title']}"
    )
    return joined(_table_buttons(place), scrolled)


def _table_buttons(place: int) -> Markup:
    choices = {"seeds": "Each seed", "last10": "Mean of the last ten rounds"}
    buttons = (
        element(
            "button", text, type="button", aria_pressed="false", data_shows=name, data_table=f"table-{place}"
        )
        for name, text in choices.items()
    )
    return element("div", *buttons, class_="choices", role="group", aria_label="What the table shows")


def _column_head(column: Any, cells: Sequence[Mapping[str, Any]]) -> Markup:
    """Return the head of a column: its name, what it stands in for, on how many seeds it rests."""
    own = [cell for cell in cells if cell["column"] == column]
    done = [cell["n_seeds"] for cell in own if cell["measured"]]
    stands_in = next((cell["stands_in_for"] for cell in own if cell.get("stands_in_for")), None)
    scales = dict.fromkeys(str(cell["scale"]) for cell in own if cell["measured"])
    facts = [f"for {stands_in}"] if stands_in else []
    facts += [counted(done, "seed"), f"scale “{', '.join(scales)}”"] if done else ["not measured"]
    quiet = (element("span", fact, class_="quiet") for fact in facts)
    return element("th", str(column), *quiet, colspan=len(MEASURES), scope="colgroup")


def _cell(cell: Mapping[str, Any] | None, title: str, name: str, last10: str) -> Markup:
    if cell is None:
        return element("td", ABSENT, class_="absent")
    measured = cell["measured"]
    spread = part(measured, name)
    printed = part(cell["printed"], name)
    parts = [_ours(spread, "last"), _ours(part(measured, last10), "last10")] if measured else [ABSENT]
    if is_number(printed):
        parts.append(element("span", f"paper {percent(printed)}", class_="printed"))
    if measured and cell["n_seeds"] < cell["n_wanted"]:
        parts.append(element("span", f"{cell['n_seeds']} of {cell['n_wanted']} seeds", class_="printed"))
    return element(
        "td",
        *parts,
        class_=None if measured else "absent",
        data_level=level(part(spread, "mean")) if title == "ASR" else None,
    )


def _ours(spread: Any, kind: str) -> Markup:
    values = part(spread, "values")
    values = values if isinstance(values, list) else []
    deviation = f" ±{percent(part(spread, 'std'))}" if len(values) > 1 else ""
    return element(
        "span",
        element("b", percent(part(spread, "mean"))),
        element("small", deviation),
        element("span", " ".join(map(percent, values)), class_="seeds"),
        class_=kind,
    )


def _studies(studies: Any) -> Markup | None:
    """Return numbers that come from no run, as a table of names and values."""
    if not isinstance(studies, Mapping) or not studies:
        return None
    rows = (
        element("tr", element("th", name, scope="row"), element("td", text))
        for name, text in _flat(studies, "")
    )
    caption = element("caption", element("span", "Measured beside the runs"))
    table = element("table", caption, element("tbody", *rows), class_="studies")
    return element("div", table, class_="scrolled", tabindex=0, role="region", aria_label="Further numbers")


def _flat(value: Any, name: str) -> list[tuple[str, str]]:
    if isinstance(value, Mapping):
        inside = (_flat(item, f"{name} · {key}" if name else str(key)) for key, item in value.items())
        return [line for lines in inside for line in lines]
    if isinstance(value, list | tuple):
        return [(name, ", ".join(text for item in value for _, text in _flat(item, name)))]
    return [(name, f"{value:.4g}" if is_number(value) else str(value))]


def heat_section(experiments: Sequence[Mapping[str, Any]]) -> Markup:
    """Return a map a task: defences down, attacks across, the deeper the colour the more the attack succeeds.

    Where several experiments measure the same pair, the first one counts.

    >>> heat_section([])
    '<p class="quiet">Nothing was measured yet.</p>'
    """
    found: dict[str, dict[tuple[str, str], tuple[Mapping[str, Any], str]]] = {}
    for experiment in experiments:
        for cell in experiment["cells"]:
            if part(cell["measured"], "attack_success"):
                pair = (str(cell["defence"]), str(cell["attack"]))
                found.setdefault(str(cell["task"]), {}).setdefault(pair, (cell, str(experiment["title"])))
    if not found:
        return element("p", "Nothing was measured yet.", class_="quiet")
    return joined(*(_heat_table(task, pairs) for task, pairs in found.items()))


def _heat_table(task: str, pairs: Mapping[tuple[str, str], tuple[Mapping[str, Any], str]]) -> Markup:
    defences = list(dict.fromkeys(defence for defence, _ in pairs))
    attacks = list(dict.fromkeys(attack for _, attack in pairs))
    heads = (element("th", breakable(attack), scope="col") for attack in attacks)
    body = (
        element(
            "tr",
            element("th", defence, scope="row"),
            *(_heat_cell(pairs.get((defence, attack))) for attack in attacks),
        )
        for defence in defences
    )
    table = element(
        "table",
        element("caption", element("span", f"{task}: attack success, and beneath it accuracy, in percent")),
        element("thead", element("tr", element("td", class_="corner"), *heads)),
        element("tbody", *body),
        class_="heat",
    )
    return element("div", table, class_="scrolled", tabindex=0, role="region", aria_label=f"Heat map: {task}")


def _heat_cell(found: tuple[Mapping[str, Any], str] | None) -> Markup:
    if found is None:
        return element("td", ABSENT, class_="absent")
    cell, title = found
    success = part(cell["measured"]["attack_success"], "mean")
    accuracy = part(part(cell["measured"], "accuracy"), "mean")
    return element(
        "td",
        element("b", percent(success)),
        element("small", f"Acc {percent(accuracy)}"),
        title=f"{title}: {cell['row']}, {cell['column']}, {counted([cell['n_seeds']], 'seed')}",
        data_level=level(success),
    )
