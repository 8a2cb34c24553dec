"""Everything that a folder holds of one task, as a document: one table per way the task was set."""

from collections.abc import Mapping, Sequence
from typing import Any

from .. import __version__
from .._support.keys import key_of
from ..runs.results import Result
from .experiment import Document, measured_over, run_shown
from .labels import differences, labels
from .studies.starts import is_warm_start

__all__ = ["stored_document"]

#: Of the task, what the title of a table says anyway.
TITLED = ("task.name", "task.n_rounds", "task.n_per_round", "task.n_clients")


def stored_document(results: Sequence[Result], *, unusable: Mapping[str, str] | None = None) -> Document:
    """Return finished runs as tables: a row per defence, a column per attack, all seeds in one cell.

    What shares a name is told apart by the settings in which it differs. The largest table is the first.
    Models that were trained for a probe to start from are no results.

    >>> stored_document([])["experiments"]
    []
    """
    finished = [one for one in results if one.finished and not is_warm_start(one.description)]
    by_setting: dict[str, list[Result]] = {}
    for result in sorted(finished, key=lambda result: result.seed):
        by_setting.setdefault(key_of(_task_of(result)), []).append(result)
    titles = _titles({key: _task_of(some[0]) for key, some in by_setting.items()})
    largest = sorted(by_setting.items(), key=lambda item: (-len(item[1]), titles[item[0]]))
    return {
        "version": __version__,
        "scale": None,
        "claims": [],
        "experiments": [_table(some, key, titles[key]) for key, some in largest],
        "runs": {result.key: run_shown(result) for result in finished},
        "unusable": dict(unusable or {}),
    }


def _task_of(result: Result) -> dict[str, Any]:
    """Return all that is the same in the runs of one table."""
    apart = ("seed", "attack", "defence")
    return {name: value for name, value in result.description.items() if name not in apart}


def _titles(tables: Mapping[str, Mapping[str, Any]]) -> dict[str, str]:
    """Return the title of each table; where a task has several, with what differs."""
    titles = {}
    for name in dict.fromkeys(table["task"]["name"] for table in tables.values()):
        own = {key: table for key, table in tables.items() if table["task"]["name"] == name}
        for (key, table), words in zip(own.items(), differences([*own.values()], but=TITLED), strict=True):
            task = table["task"]
            rounds = f"{task['n_rounds']} round{'s' * (task['n_rounds'] != 1)}"
            counts = f"{rounds}, {task['n_per_round']} of {task['n_clients']} clients each"
            titles[key] = f"{name}: {', '.join([counts, *words])}"
    return titles


def _table(results: Sequence[Result], key: str, title: str) -> Document:
    """Return the runs of one task, set in one way."""
    rows, columns = _labels(results, "defence"), _labels(results, "attack")
    cells: dict[tuple[str, str], list[Result]] = {}
    for result in results:
        place = (rows[_part(result, "defence")], columns[_part(result, "attack")])
        cells.setdefault(place, []).append(result)
    seeds = sorted({result.seed for result in results})
    edited = any("#" in label for label in (title, *rows.values(), *columns.values()))
    return {
        "name": f"{results[0].task}-{key}",
        "title": title,
        "kind": "table",
        "note": f"All that is stored of it: seed{'s' * (len(seeds) > 1)} {', '.join(map(str, seeds))}."
        + " After a #: a digest of a function's code, where it is not the same in all." * edited,
        "axis": None,
        "rows": sorted(rows.values()),
        "columns": sorted(columns.values(), key=lambda column: (column.startswith("none"), column)),
        "cells": [
            _cell(row, column, title, some, n_wanted=len(seeds)) for (row, column), some in cells.items()
        ],
        "studies": {},
        "analyses": {},
        "baseline": None,
    }


def _cell(row: str, column: str, title: str, results: Sequence[Result], *, n_wanted: int) -> Document:
    return {
        "row": row,
        "column": column,
        "task": title,
        "attack": column,
        "defence": row,
        "printed": None,
        "stands_in_for": None,
        "x": None,
        "measured": measured_over(results),
        "n_seeds": len(results),
        "n_wanted": n_wanted,
        "seeds": [result.seed for result in results],
        "scale": None,
        "keys": [result.key for result in results],
    }


def _part(result: Result, part: str) -> str:
    return key_of(result.description[part])


def _labels(results: Sequence[Result], part: str) -> dict[str, str]:
    """Return a label for each way that a part of the runs is set."""
    return labels({_part(result, part): result.description[part] for result in results})
