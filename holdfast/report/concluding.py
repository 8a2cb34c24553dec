"""From documents to conclusions: one training, defences side by side, one round."""

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from .._support.counting import counted
from ..paper.comparison import HONEST
from .conclusions import HEADLINES, MARGIN, Conclusion, Judged, Word, judge
from .maps import verdicts_in
from .next_steps import Typed, after_contest, after_run
from .suspects import ALL_UNWATCHED, attention_in_round, suspects_in_round, suspects_in_runs, unusable_in

__all__ = [
    "conclude_contest",
    "conclude_round",
    "conclude_run",
    "judged_rows",
    "listed",
    "overall",
    "reasons_of",
]

Document = Mapping[str, Any]

NO_COMMAND = "Repeat it with more seeds and other attacks: holdfast.lab.compare."


def conclude_run(
    run: Document, honest: Document | None, *, guessing: float | None, typed: Typed | None = None
) -> Conclusion:
    """Return what one training comes to, given the same training without attackers, as documents have runs.

    >>> own = {"accuracy": [0.9], "attack_success": [0.02], "n_attackers": [0]}
    >>> conclude_run({"defence": "median", "series": own}, None, guessing=0.1).headline
    'Nobody attacked'
    """
    series = run["series"]
    accuracy, success = series["accuracy"][-1], series["attack_success"][-1]
    if not any(series["n_attackers"]):
        judged = judge([accuracy], None, guessing=guessing)
        if judged.word != "not trained":
            is_honest = run.get("attack", "none") == "none"
            who = "All clients were honest" if is_honest else "No attacker was drawn in any round"
            judged = Judged("no attack", f"{who}; {accuracy:.1%} of the answers are correct.")
    else:
        usual = None if honest is None else honest["series"]["attack_success"][-1]
        judged = judge(
            [accuracy],
            None if success is None else [success],
            unattacked=None if usual is None else [usual],
            guessing=guessing,
        )
    step = (NO_COMMAND, None) if typed is None else after_run(judged.word, run["defence"], typed)
    reason, n_lost = judged.reason, run.get("n_lost", 0)
    if n_lost:
        reason += f" In {n_lost} of {len(series['accuracy'])} rounds the server aggregated nothing."
    return Conclusion(judged.word, reason, suspects_in_runs([run]), *step)


def judged_rows(experiment: Document, *, guessing: float | None) -> dict[str, Judged]:
    """Return what became of the backdoor under each defence of a comparison.

    >>> judged_rows({"rows": ["mine"], "cells": []}, guessing=None)
    {}
    """
    cells = {(cell["row"], cell["column"] == HONEST): cell["measured"] for cell in experiment["cells"]}
    found = {}
    for row in experiment["rows"]:
        attacked, honest = cells.get((row, False)), cells.get((row, True))
        if attacked:
            usual = _values(honest, "attack_success")
            own = _values(attacked, "accuracy") or [0.0]
            success = _values(attacked, "attack_success")
            found[row] = judge(own, success, unattacked=usual, guessing=guessing)
    return found


def conclude_contest(
    experiment: Document,
    runs: Mapping[str, Document],
    *,
    guessing: float | None,
    typed: Typed | None = None,
) -> Conclusion:
    """Return what a comparison of defences comes to: under which the backdoor was kept out.

    >>> shown = {"rows": [], "cells": []}
    >>> conclude_contest(shown, {}, guessing=None).headline
    'No verdict on a backdoor'
    """
    judged = judged_rows(experiment, guessing=guessing)
    attackers = [run["series"].get("n_attackers", [None]) for run in runs.values()]
    if runs and not any(count != 0 for own in attackers for count in own):
        honest = Judged("no attack", "No attacker took part: there was no attack to keep out.")
        judged = {row: one if one.word == "not trained" else honest for row, one in judged.items()}
    words = {row: one.word for row, one in judged.items()}
    kept = [row for row, word in words.items() if word == "kept out"]
    word = overall(list(words.values()))
    headline = HEADLINES[word]
    if len(words) > 1 and {*words.values()} & {"kept out", "partly in", "got in"}:
        headline = (
            f"{listed(kept) or 'No defence'} kept the backdoor out ({len(kept)} of {len(words)} defences)"
        )
    seeds: list[int] = next((cell["seeds"] for cell in experiment["cells"] if cell["measured"]), [])
    step = (NO_COMMAND, None) if typed is None else after_contest(words, seeds, typed)
    suspects = _suspects(experiment, runs, kept)
    reason = reasons_of(judged)
    if len(words) > 1 and words.get("fedavg") == "kept out":
        reason += (
            " Plain averaging (fedavg), which is no defence, kept it out, too: the attack does not work here,"
            " so this says nothing about the others."
        )
    return Conclusion(word, reason, suspects, *step, headline=headline)


def reasons_of(judged: Mapping[str, Judged]) -> str:
    """Return why, of several defences in short.

    >>> reasons_of({})
    'Nothing was measured.'
    """
    reasons = [*dict.fromkeys(one.reason for one in judged.values())]
    if len(judged) < 2 or (len(reasons) == 1 and not any(one.numbers for one in judged.values())):
        return "".join(reasons) or "Nothing was measured."
    told = "; ".join(f"{row} {one.word} ({one.numbers or 'no backdoor'})" for row, one in judged.items())
    return (
        f"How often inputs with the backdoor get the attackers' label: {told}. Up to {100 * MARGIN:.0f}"
        " points above the unattacked rate, in every seed, counts as kept out."
    )


def overall(words: Sequence[Word]) -> Word:
    """Return the verdict on defences together: the backdoor is kept out if one of them keeps it out.

    >>> overall(["got in", "kept out"]), overall(["got in", "not trained"]), overall([])
    ('kept out', 'got in', 'no verdict')
    """
    order: tuple[Word, ...] = ("kept out", "partly in", "got in", "no verdict", "not trained", "no attack")
    return next((word for word in order if word in words), "no verdict")


def conclude_round(document: Document, *, step: tuple[str, str | None]) -> Conclusion:
    """Return what one round over files comes to: a server that holds no test data cannot see a backdoor."""
    diagnostics, verdicts = document["diagnostics"], verdicts_in(document)
    reason = (
        "One round of updates does not show whether a backdoor is in the model: only inputs with the trigger"
        " would, and the server does not know it."
    )
    headline = "The next model is written; whether a backdoor is in it, a round cannot tell"
    if verdicts is not None and verdicts.hearing:
        reason = _noted(diagnostics)
        headline = "A hearing: the model stays as it is until all clients were heard"
    elif not diagnostics["aggregated"]:
        reason = _why_unchanged(diagnostics)
        headline = "Not aggregated: the model stays as it is"
    suspects, attention = suspects_in_round(diagnostics, verdicts), attention_in_round(diagnostics)
    return Conclusion("no verdict", reason, suspects, *step, headline=headline, attention=attention)


def _why_unchanged(diagnostics: Document) -> str:
    """Return why nothing was aggregated, and of clients that were dropped the commonest reason."""
    why = _noted(diagnostics)
    unusable = Counter(drop["reason"] for drop in unusable_in(diagnostics))
    if not unusable:
        return why
    reason, count = unusable.most_common(1)[0]
    return f"{why} The reason for {counted(count, 'client')}: {reason}."


def _noted(diagnostics: Document) -> str:
    """Return what a round notes as a sentence."""
    notes = "; ".join(diagnostics.get("notes", ())) or "no update was applied"
    return f"{notes[:1].upper()}{notes[1:]}."


def _values(measured: Document | None, name: str) -> list[float] | None:
    spread = (measured or {}).get(name)
    return None if spread is None else [value for value in spread["values"] if value is not None]


def _suspects(experiment: Document, runs: Mapping[str, Document], kept: Sequence[str]) -> str:
    """Return whom a watch accused: that of a defence that kept the backdoor out, if it has one."""
    cells = [cell for cell in experiment["cells"] if cell["column"] != HONEST and cell["measured"]]
    shown = {cell["row"]: [runs[key] for key in cell["keys"] if key in runs] for cell in cells}
    watched = {row: own for row, own in shown.items() if any(run.get("watch") for run in own)}
    for row in (*kept, *watched):
        if row in watched:
            return f"{row}: {suspects_in_runs(watched[row])}"
    return ALL_UNWATCHED if len(shown) > 1 else suspects_in_runs([])


def listed(names: Sequence[str]) -> str:
    """Return names as a sentence has them.

    >>> listed(["krum", "rfa", "median"])
    'krum, rfa and median'
    """
    return " and ".join(filter(None, [", ".join(names[:-1]), *names[-1:]]))
