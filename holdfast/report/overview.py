"""What all stored results come to: the defence with the best worst case, and whom the watches accused."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from ..paper.worst_case import worst_of
from .conclusions import Conclusion, Word, judge

__all__ = ["AccusedRow", "accused_rows", "conclude_evidence", "heat_maps"]

Document = Mapping[str, Any]

#: A worst case counts if at least this share of the attacks that anybody was tried with was tried.
TRIED = 0.8
RERUN = "Repeat the worst case of the best defence here:"


@dataclass(frozen=True)
class AccusedRow:
    """Whom the watch of a defence accused under an attack on a task, over all runs.

    >>> AccusedRow("factions+rfa", "edge-case", "digits", 3, 30, 30, 0, 120).n_found
    30
    """

    defence: str
    attack: str
    task: str
    n_runs: int
    n_found: int
    n_attackers: int
    n_wronged: int
    n_honest: int


def heat_maps(experiments: Sequence[Document]) -> list[dict[str, Any]]:
    """Return a map per task, of defences by attacks; the first experiment that measures a pair counts.

    >>> heat_maps([])
    []
    """
    found: dict[str, dict[tuple[str, str], Document]] = {}
    for experiment in experiments:
        for cell in experiment["cells"]:
            if (cell["measured"] or {}).get("accuracy"):
                pair = (str(cell["defence"]), str(cell["attack"]))
                cell = {**cell, "title": experiment["title"]}
                found.setdefault(str(cell["task"]), {}).setdefault(pair, cell)
    maps = []
    for task, pairs in found.items():
        attacks = list(dict.fromkeys(attack for _, attack in pairs))
        defences = dict.fromkeys(defence for defence, _ in pairs)
        rows = [(defence, [pairs.get((defence, attack)) for attack in attacks]) for defence in defences]
        worst = {defence: worst_of(filter(None, cells)) for defence, cells in rows}
        has_several = len([attack for attack in attacks if attack != "none"]) > 1
        shown = {"task": task, "attacks": attacks, "rows": rows}
        maps.append(shown | {"worst": worst if has_several else {}})
    return maps


def conclude_evidence(document: Document) -> Conclusion | None:
    """Return which defence has the best worst case on each task with several attacks; None if none has.

    >>> conclude_evidence({"experiments": [], "runs": {}}) is None
    True
    """
    best = {one["task"]: found for one in heat_maps(document["experiments"]) if (found := _best(one))}
    if not best:
        return None
    told = [
        f"{task}, {own['n_attacks']} attacks: {defence}, at worst {own['attack_success']:.1%} ({own['by']};"
        f" unattacked {_percent(own['usual'])})"
        for task, (defence, own) in best.items()
    ]
    task, (defence, own) = max(best.items(), key=lambda one: one[1][1]["n_attacks"])
    accused = accused_rows(document)
    found, true = (sum(getattr(row, name) for row in accused) for name in ("n_found", "n_attackers"))
    wronged, honest = (sum(getattr(row, name) for row in accused) for name in ("n_wronged", "n_honest"))
    suspects = (
        f"Over {sum(row.n_runs for row in accused)} runs with a watch, it accused {found} of {true} attackers"
        f" and {wronged} of {honest} honest clients."
        if accused
        else "No run here has a watch, which would accuse clients."
    )
    return Conclusion(
        own["word"],
        "How often the backdoor works under the attack that works best, for the defence that stands it best."
        f" {'. '.join(told)}.",
        suspects,
        RERUN,
        f"holdfast run {task} --attack {own['by']} --defence {defence}",
        f"Best worst case on {task}: {defence}, {own['attack_success']:.0%} under the attack that works best",
    )


def accused_rows(document: Document) -> list[AccusedRow]:
    """Return whom the watches of all runs accused, by defence, attack and task."""
    groups: dict[tuple[str, str, str], list[Document]] = {}
    for run in document["runs"].values():
        if run.get("watch") and run["finished"]:
            groups.setdefault((run["defence"], run["attack"], run["task"]), []).append(run)
    return [AccusedRow(*names, *_counts(runs)) for names, runs in groups.items()]


def _counts(runs: Sequence[Document]) -> tuple[int, int, int, int, int]:
    """Return the runs, attackers found, attackers heard, honest clients accused and honest clients."""
    heard = [len(run["watch"]["malicious"]) for run in runs]
    found, wronged = (sum(_last(run, name) for run in runs) for name in ("n_found", "n_wronged"))
    honest = sum(run["n_clients"] for run in runs) - sum(heard)
    return len(runs), found, sum(heard), wronged, honest


def _last(run: Document, name: str) -> int:
    """Return a count after the last round; 0 where a run has none."""
    numbers = run["series"].get(name) or [0]
    return int(numbers[-1] or 0)


def _best(map_: Mapping[str, Any]) -> tuple[str, dict[str, Any]] | None:
    """Return the defence whose worst case is best among those tried with most attacks, and that case."""
    tried = {defence: own for defence, own in map_["worst"].items() if own and own["by"] is not None}
    if not tried:
        return None
    enough = TRIED * max(own["n_attacks"] for own in tried.values())
    tried = {defence: own for defence, own in tried.items() if own["n_attacks"] >= enough}
    defence = min(tried, key=lambda one: tried[one]["attack_success"])
    cells = {row: dict(zip(map_["attacks"], cells, strict=True)) for row, cells in map_["rows"]}[defence]
    usual = _success(cells.get("none"))
    worst = tried[defence]
    word: Word = judge(
        [worst["accuracy"]], [worst["attack_success"]], unattacked=None if usual is None else [usual]
    ).word
    return defence, {**worst, "usual": usual, "word": word}


def _success(cell: Document | None) -> float | None:
    spread = None if cell is None else cell["measured"]["attack_success"]
    return None if spread is None else float(spread["mean"])


def _percent(share: float | None) -> str:
    return "not measured" if share is None else f"{share:.1%}"
