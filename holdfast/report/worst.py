"""Defences by their worst case over all attacks that were measured, the best first."""

from collections.abc import Mapping
from typing import Any, NamedTuple

from ..paper.worst_case import worst_of

__all__ = ["HEADS", "WorstRow", "worst_rows", "worst_texts"]

#: The titles of the columns.
HEADS = ("defence", "Acc, no attack", "worst ASR", "by", "lowest Acc", "by", "attacks")


class WorstRow(NamedTuple):
    """A defence, its accuracy without an attack, and the worst that attacks did to it."""

    defence: str
    honest_accuracy: float | None
    attack_success: float | None
    by: str | None  # the attack that was most successful
    accuracy: float
    accuracy_by: str  # the attack that cost most accuracy
    n_attacks: int  # that were measured


def worst_rows(experiment: Mapping[str, Any]) -> list[WorstRow]:
    """Return the defences that were measured, the one whose backdoors work least first.

    >>> worst_rows({"rows": ["median"], "columns": [], "cells": []})
    []
    """
    found = []
    for defence in experiment["rows"]:
        cells = [cell for cell in experiment["cells"] if cell["row"] == defence]
        worst = worst_of(cells)
        honest = [cell["measured"] for cell in cells if cell["attack"] == "none" and cell["measured"]]
        if worst is not None:
            accuracy = honest[0]["accuracy"]["mean"] if honest else None
            found.append(WorstRow(defence, accuracy, **worst))
    return sorted(found, key=lambda row: (-row.n_attacks, row.attack_success or 0.0, -row.accuracy))


def worst_texts(experiment: Mapping[str, Any]) -> list[list[str]]:
    """Return the head and the rows as texts.

    >>> worst_texts({"rows": [], "columns": [], "cells": []})[0][0]
    'defence'
    """
    return [list(HEADS), *([_text(value) for value in row] for row in worst_rows(experiment))]


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.3f}".removeprefix("0") if isinstance(value, float) else str(value)
