"""Everything that a folder holds of one task, as a document: one table per way the task was set."""

from collections.abc import Mapping, Sequence
from typing import Any

from .. import __version__
from .._support.keys import key_of
from ..runs.results import Result
from .experiment import Document, measured_over, run_shown

__all__ = ["stored_document"]


def stored_document(results: Sequence[Result], *, unusable: Mapping[str, str] | None = None) -> Document:
    """Return finished runs as tables: a row per defence, a column per attack, all seeds in one cell.

    >>> stored_document([])["experiments"]
    []
    """
    finished = [result for result in results if result.finished]
    by_setting: dict[str, list[Result]] = {}
    for result in finished:
        by_setting.setdefault(key_of(_without(result, "seed", "attack", "defence")), []).append(result)
    return {
        "version": __version__,
        "scale": "cpu",
        "claims": [],
        "experiments": [_table(some) for some in by_setting.values()],
        "runs": {result.key: run_shown(result) for result in finished},
        "unusable": dict(unusable or {}),
    }


def _without(result: Result, *names: str) -> dict[str, Any]:
    return {name: value for name, value in result.description.items() if name not in names}


def _table(results: Sequence[Result]) -> Document:
    """Return the runs of one task, set in one way."""
    rows = _labels(results, "defence")
    columns = _labels(results, "attack")
    cells: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        cells.setdefault((rows[_part(result, "defence")], columns[_part(result, "attack")]), []).append(
            result
        )
    task = results[0].description["task"]
    return {
        "name": f"{task['name']}-{key_of(_without(results[0], 'seed', 'attack', 'defence'))}",
        "title": f"{task['name']}: {task['n_rounds']} rounds,"
        f" {task['n_per_round']} of {task['n_clients']} clients each",
        "kind": "table",
        "note": "All that is stored of it.",
        "axis": None,
        "rows": list(dict.fromkeys(row for row, _ in cells)),
        "columns": list(dict.fromkeys(column for _, column in cells)),
        "cells": [_cell(row, column, some) for (row, column), some in cells.items()],
        "studies": {},
        "analyses": {},
        "baseline": None,
    }


def _cell(row: str, column: str, results: Sequence[Result]) -> Document:
    first = results[0]
    return {
        "row": row,
        "column": column,
        **{name: getattr(first, name) for name in ("task", "attack", "defence")},
        "printed": None,
        "stands_in_for": None,
        "x": None,
        "measured": measured_over(results),
        "n_seeds": len(results),
        "n_wanted": len(results),
        "seeds": [result.seed for result in results],
        "scale": "cpu",
        "keys": [result.key for result in results],
    }


def _part(result: Result, part: str) -> str:
    return key_of(result.description[part])


def _labels(results: Sequence[Result], part: str) -> dict[str, str]:
    """Return a label for each way that a part of the runs is set: its name, numbered if several have it."""
    labels: dict[str, str] = {}
    for result in results:
        key, name = _part(result, part), str(result.description[part]["name"])
        if key not in labels:
            n_before = sum(label.partition(" (")[0] == name for label in labels.values())
            labels[key] = f"{name} ({n_before + 1})" if n_before else name
    return labels
