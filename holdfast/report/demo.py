"""What the demo's trainings come to: a verdict on each row, and a conclusion over both tasks."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..paper.demo import ATTACK, HONEST
from .concluding import listed, overall
from .conclusions import HEADLINES, MARGIN, Conclusion, Judged, judge
from .suspects import suspects_in_runs

__all__ = ["conclude_demo", "demo_rows"]

Document = Mapping[str, Any]


def demo_rows(experiment: Document, *, guessing: float | None) -> dict[str, Judged]:
    """Return what became of the backdoor in each row, judged by the row without attackers.

    >>> def cell(row, success):
    ...     return {"row": row, "measured": {"accuracy": {"mean": 0.9}, "attack_success": {"mean": success}}}
    >>> rows = demo_rows({"cells": [cell(HONEST, 0.01), cell("fedavg", 0.9)]}, guessing=0.1)
    >>> rows["fedavg"].word
    'got in'
    """
    means = {
        cell["row"]: [cell["measured"][name]["mean"] for name in ("accuracy", "attack_success")]
        for cell in experiment["cells"]
    }
    _, usual = means[HONEST]
    return {
        row: judge([accuracy], [success], unattacked=[usual], guessing=guessing)
        for row, (accuracy, success) in means.items()
        if row != HONEST
    }


def conclude_demo(
    document: Document, *, guessing: Sequence[float | None], codes: Mapping[str, str]
) -> Conclusion:
    """Return which defence keeps the backdoor out of every task; `codes` says how each is called."""
    shown, runs = document["experiments"], document["runs"]
    judged = [demo_rows(one, guessing=own) for one, own in zip(shown, guessing, strict=True)]
    rows = list(judged[0])
    word = overall([overall_of([own[row] for own in judged]).word for row in rows])
    kept = [row for row in rows if all(own[row].word == "kept out" for own in judged)]
    let_in = [row for row in rows if any(own[row].word in ("got in", "partly in") for own in judged)]
    best = min(reversed(kept), key=lambda row: _worst(shown, row), default=None)
    headline = HEADLINES[word]
    if word != "not trained":
        headline = f"{listed(kept) or 'No defence'} kept the backdoor out of both tasks"
        headline += f"; {listed(let_in)} did not" if let_in and kept else ""
    command = (
        f"holdfast compare digits --attack {ATTACK}+sleeper --defences {','.join(kept or rows)} --seeds 3"
    )
    advice = "Try harder attackers, which sleep through the first half of the training:"
    if word == "not trained":
        advice, command = "Train longer:", "holdfast demo"
    return Conclusion(
        word, _reason(shown, judged), _suspects(shown, runs), advice, command, headline, codes.get(best or "")
    )


def overall_of(judged: Sequence[Judged]) -> Judged:
    """Return the worst of the verdicts on one defence."""
    order = ("not trained", "got in", "partly in", "no verdict", "kept out")
    return min(judged, key=lambda one: order.index(one.word))


def _reason(shown: Sequence[Document], judged: Sequence[Mapping[str, Judged]]) -> str:
    untrained = [one["title"] for one, own in zip(shown, judged, strict=True) if "not trained" in _words(own)]
    told = (
        f"A backdoor counts as kept out if it works at most {100 * MARGIN:.0f} points more often than without"
        " attackers."
    )
    return told + (f" Too little was learned for a verdict: {listed(untrained)}." if untrained else "")


def _words(judged: Mapping[str, Judged]) -> set[str]:
    return {one.word for one in judged.values()}


def _worst(shown: Sequence[Document], row: str) -> float:
    cells = [cell for one in shown for cell in one["cells"] if cell["row"] == row]
    return max(float(cell["measured"]["attack_success"]["mean"]) for cell in cells)


def _suspects(shown: Sequence[Document], runs: Mapping[str, Document]) -> str:
    """Return task by task whom the watch accused."""
    words = []
    for one in shown:
        watched = [runs[key] for cell in one["cells"] for key in cell["keys"] if runs[key].get("watch")]
        words.append(f"{one['title']}: {_lowered(suspects_in_runs(watched))}")
    return " ".join(words)


def _lowered(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:]
