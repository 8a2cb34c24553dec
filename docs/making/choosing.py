"""Which defence for me: what is stored, as an answer to three questions."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean

import holdfast
from holdfast import aggregators
from holdfast.paper.evidence import evidence

from .stored import PLAIN, WARY, Cells, is_watched, marked, rate, table

#: Tasks on which defences met many attacks, and those on which they met the edge case.
MANY, ALL = ("digits", "phishing"), ("phishing", "digits", "phishing-urls", "spambase", "cifar10", "twitter")
#: Who loses more accuracy than this against plain averaging is not recommended, however much it keeps out.
MOST_LOST = 0.03
#: Whoever met fewer attacks on one of these tasks cannot be compared by its worst case.
LEAST = 10


@dataclass(frozen=True)
class Candidate:
    """A defence with how it fared under all attacks that the others met as well."""

    defence: str
    worst: dict[str, float]
    mean: dict[str, float]
    accuracy: dict[str, float]

    @property
    def order(self) -> tuple[float, float]:
        """What candidates are sorted by: the mean over attacks, then the worst."""
        return round(mean(self.mean.values()), 2), mean(self.worst.values())


def make(cells: Cells) -> dict[str, str]:
    """Return the page, by its address."""
    found = candidates(cells)
    return {"choose.md": _page(found, cells)}


def candidates(cells: Cells) -> list[Candidate]:
    """Return all defences that met many attacks on several tasks, the best first."""
    shared = {task: shared_attacks(cells, task) for task in MANY}
    found = []
    for defence in dict.fromkeys(cell.defence for cell in cells):
        own = {task: [cells.at(task, attack, defence) for attack in shared[task]] for task in MANY}
        if all(one for some in own.values() for one in some):
            found.append(
                Candidate(
                    defence,
                    {task: max(cell.success for cell in some) for task, some in own.items()},
                    {task: mean(cell.success for cell in some) for task, some in own.items()},
                    {task: mean(cell.accuracy for cell in some) for task, some in own.items()},
                )
            )
    return sorted(found, key=lambda one: one.order)


def shared_attacks(cells: Cells, task: str) -> list[str]:
    """Return the attacks that every defence with many of them met on a task."""
    met: dict[str, set[str]] = {}
    for cell in cells:
        if cell.task == task and cell.success is not None and cell.attack.startswith("edge-case"):
            met.setdefault(cell.defence, set()).add(cell.attack)
    many = [attacks for attacks in met.values() if len(attacks) >= LEAST]
    return sorted(set.intersection(*many)) if many else []


def _page(found: Sequence[Candidate], cells: Cells) -> str:
    watched = [one for one in found if is_watched(one.defence)]
    alone = [one for one in found if not is_watched(one.defence) and one.defence != PLAIN]
    free = [one for one in alone if not _told(one.defence)]
    plain = [one for one in found if one.defence == PLAIN]
    n = {task: len(shared_attacks(cells, task)) for task in MANY}
    told = [one for one in alone if _told(one.defence)]
    best_told, best_free = (recommended(some, plain[0]) for some in (told, free))
    return f"""---
title: Which defence for me
---

# Which defence for me

Three questions, and a table for each answer. The tables are made from the stored results whenever this site is built.
*Mean* and *worst* are attack success (lower is better) over the same {n["digits"]} attacks on digits and {n["phishing"]} on
phishing, all with an edge case, most of them by attackers who know what they are up against. *Best* is who has the lowest
mean of those that lose at most {MOST_LOST:.0%} of accuracy against plain averaging.

## 1. Does the server see single updates?

**No**, because of secure aggregation: then no rule applies. See
[What secure aggregation rules out](concepts/secure-aggregation.md). **Yes**: read on.

## 2. Do clients keep their ids from round to round?

{_with_watch(watched, alone, plain)}
`mode="wary"` gives suspects no say either. It is for federations in which clients differ each in its own way (`verdicts.shared`
below .15); where they hold few classes each, it costs accuracy, and `factions()` is the better choice:
[The watch](watch.md).

What an id must be: [Identity over rounds](concepts/identity.md). **No**, or they cost nothing: read on.

## 3. Do you know how many attack, at most?

**Yes: take a rule that can be told.** Best on average: **`{best_told.defence}`**.{_dearer(told, best_told)}

{_table([*told, *plain])}
**No:** best on average is **`{best_free.defence}`**; `holdfast advise` helps with its settings.

{_table([*free, *plain])}
**Every rule alone has an attack that beats it**: look at the worst case on digits before you rely on one.

## Do honest clients come in groups?

Another camera, another language, one or two classes per client: then every robust defence harms somebody, and the watch may
expel them. Use `factions(mode="report")`, look at the verdicts, and decide yourself: [Honest minorities](concepts/minorities.md).

## The same defences on other data

Accuracy / attack success of the plain edge case. (1), (2): of so many seeds.

{_edge_cases([one.defence for one in found], cells)}
## Rules that met fewer attacks

Many published rules have met one attack here so far, a distributed trigger on Fashion-MNIST; whoever met one has had one chance
to fail. Sorted by attack success:

{_single(cells, [one.defence for one in found])}
## How to read this

- These are small models and six tasks. Try the candidates on yours: [Bring your own task](tutorials/own_task.md).
- A rule that is told a wrong number of attackers does worse than here, where it is told the expected number.
- All numbers with spreads: [Results](results.md), [The watch](watch.md), [Attacks](attacks.md).
"""


def _with_watch(watched: Sequence[Candidate], alone: Sequence[Candidate], plain: Sequence[Candidate]) -> str:
    """Recommend a rule behind the watch: the best one, or the default as long as none has met every attack."""
    least = rate(min(one.worst["digits"] for one in alone))
    if watched:
        best = recommended(watched, plain[0])
        defence, table = best.defence, _table([*watched, *plain])
        said = f"Best on average: **`{defence}`**, with a worst case of\n{rate(best.worst['digits'])} on digits, where the best rule alone has {least}."
    else:
        defence, table = "factions+krum_trimmed_mean", ""
        said = f"The default is **`{defence}`**. The watch\nhas changed, and its trainings are being repeated; [The watch](watch.md) has those that are done. The best rule alone has a worst case of {least} on digits."
    rule = _rule(defence)
    settings = "n_malicious=4" if _told(defence) else ""
    mode = 'mode="wary"' if defence.startswith(WARY) else ""
    return f"""**Yes: put the watch in front of a rule.** {said}

{table}
```python
{_imported(rule)}

rule = {rule}({settings})  # of those who take part in one round
result = defend(sent, rule, base=model, watch=factions({mode}), state=state)
```
"""


def recommended(some: Sequence[Candidate], plain: Candidate) -> Candidate:
    """Return the best of those that cost little accuracy; the best of all if none does."""
    return next((one for one in some if not _costs(one, plain)), some[0])


def _costs(one: Candidate, plain: Candidate) -> bool:
    return any(plain.accuracy[task] - one.accuracy[task] > MOST_LOST for task in MANY)


def _dearer(some: Sequence[Candidate], best: Candidate) -> str:
    """Return a sentence on who keeps more out at a higher price."""
    before = some[: some.index(best)]
    words = [
        f" `{one.defence}` keeps more out, at an accuracy of {rate(one.accuracy['digits'], digits=3)} on digits."
        for one in before
    ]
    return "".join(words)


def _rule(defence: str) -> str:
    return defence.rpartition("+")[2]


def _imported(rule: str) -> str:
    if rule in holdfast.__all__:
        return f"from holdfast import defend, factions, {rule}"
    return f"from holdfast import defend, factions\nfrom holdfast.aggregators import {rule}"


def _told(defence: str) -> bool:
    rule = _rule(defence)
    return rule in aggregators.__all__ and bool(getattr(aggregators, rule).missing)


def _table(some: Iterable[Candidate]) -> str:
    heads = [f"{task}, {what}" for task in MANY for what in ("mean", "worst", "accuracy")]
    rows = [["defence", *heads]]
    for one in some:
        numbers = (
            text
            for task in MANY
            for text in (rate(one.mean[task]), marked(one.worst[task]), rate(one.accuracy[task], digits=3))
        )
        rows.append([linked(one.defence), *numbers])
    return table(rows, numbers=len(heads))


def _edge_cases(defences: Sequence[str], cells: Cells) -> str:
    return _by_task(defences, cells, lambda task, defence: cells.at(task, "edge-case", defence))


def _by_task(defences: Sequence[str], cells: Cells, cell: Callable[[str, str], object]) -> str:
    rows = [["defence", *ALL]]
    clean = [cells.at(task, "none", PLAIN) for task in ALL]
    rows.append(["*no attack, plain averaging*", *(one.shown if one else "" for one in clean)])
    for defence in defences:
        own = [cell(task, defence) for task in ALL]
        rows.append([linked(defence), *(one.shown if one else "" for one in own)])
    return table(rows)


def _single(cells: Cells, but: Sequence[str]) -> str:
    some = [
        cell
        for cell in cells
        if cell.task == "fashion-mnist" and cell.attack == "distributed" and cell.success is not None
    ]
    rows = [["defence", "accuracy", "attack success"]]
    for cell in sorted(some, key=lambda cell: (cell.success, -cell.accuracy)):
        name = linked(cell.defence) + (" (above)" if cell.defence in but else "")
        rows.append([name, rate(cell.accuracy, digits=3), marked(cell.success)])
    return table(rows, numbers=2)


def linked(defence: str, *, up: str = "") -> str:
    """Return a defence's name, linked to the page of its rule where there is one."""
    rule = _rule(defence)
    return f"[`{defence}`]({up}rule/{rule}.md)" if rule in aggregators.__all__ else f"`{defence}`"


def expectations(cells: Cells) -> str:
    """Return what the home page shows: no defence, the paper's rule, the best rule alone and the best two watches."""
    found = candidates(cells)
    watched = [one.defence for one in found if is_watched(one.defence)]
    rules = [one for one in found if not is_watched(one.defence)]
    alone = recommended(rules, next(one for one in found if one.defence == PLAIN))
    return _edge_cases([PLAIN, "invariant", alone.defence, *watched[:2]], cells)


def minorities(root: Path) -> str:
    """Return the accuracy of honest minorities by defence, with nobody attacking."""
    (found,) = evidence(["minorities"], root / "results")["experiments"]
    rows: dict[str, dict[str, float]] = {}
    for cell in found["cells"]:
        if cell["measured"] and cell["attack"] == "none":
            accuracy = cell["measured"]["minority_accuracy"]["mean"]
            rows.setdefault(cell["row"], {})[cell["task"]] = accuracy
    tasks = list(dict.fromkeys(task for own in rows.values() for task in own))
    shown = [
        [_plainly(row), *(rate(own[task], digits=3) if task in own else "" for task in tasks)]
        for row, own in rows.items()
    ]
    return table([["defence", *tasks], *shown], numbers=len(tasks))


def _plainly(row: str) -> str:
    words = row.removeprefix("No attack").removeprefix(": ") or "FedAvg"
    return f"{words[:1].upper()}{words[1:]}".replace("FedAvg", "plain averaging")
