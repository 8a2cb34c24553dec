"""A page per rule: of its docstring, its settings and all that was measured of it."""

import inspect
import re
import sys
from collections.abc import Mapping
from typing import Any

import holdfast
from holdfast import aggregators
from holdfast.lab.catalogue import Choice, list_choices

from . import equations
from .stored import IN, OUT, PLAIN, WATCH, Cell, Cells, marked, rate, table

#: What a rule may ask for in each round, in words.
NEEDS = {
    "weights": "sample counts (capped)",
    "clients": "client ids that last",
    "state": "memory, in `state`",
    "params": "the global model",
    "reference": "an update that the server makes on data of its own",
    "rng": "random numbers",
    "previous": "the last global update",
}
#: Rules that stand in front of another.
FRONTS = ("arc", "bucketing", "cached", "nnm")


def make(cells: Cells, seconds: Mapping[str, float]) -> dict[str, str]:
    """Return the pages of all rules, by address."""
    entries = {entry.name: entry for entry in list_choices("defences")}
    return {f"rule/{name}.md": _page(name, entries[name], cells, seconds) for name in aggregators.__all__}


def _page(name: str, entry: Choice, cells: Cells, seconds: Mapping[str, float]) -> str:
    bound = getattr(aggregators, name)
    title, idea = _opening(name)
    parts = [
        f"---\ntitle: {title}\n---\n\n# {title}\n",
        f"{idea}It returns {entry.what[:1].lower()}{entry.what[1:]}\n",
        f"{equations.drawn(equations.RULES[name])}\n",
        f"<small>{equations.RULE_SYMBOLS}</small>\n",
        explained(bound),
        "## When it helps, and when it fails\n",
        _fared(name, cells),
        "## What it needs, and costs\n",
        _needs(bound),
        _cost(name, seconds),
        "## Settings\n",
        _settings(entry),
        "## Use it\n",
        _use(name, bound),
        f"[Reference](../reference/aggregators.md#holdfast.aggregators.{name})"
        + (f" · [Paper]({entry.paper})" if entry.paper else "")
        + " · [Where ours departs](../rules.md#where-ours-depart-and-what-to-know)"
        + " · [All rules](../rules.md) · [Which defence for me](../choose.md)\n",
    ]
    return "\n".join(parts)


def _opening(name: str) -> tuple[str, str]:
    """Return the name of a rule as people say it, and its idea, of its module's docstring."""
    module = sys.modules[f"holdfast.aggregators.{name}"]
    head, colon, rest = (inspect.getdoc(module) or name).partition("\n")[0].partition(": ")
    if not colon:  # the docstring of the rule says it all
        return name.replace("_", " ").capitalize(), ""
    title = head.removeprefix("The ")
    return title[:1].upper() + title[1:], f"{rest[:1].upper()}{rest[1:]} "


def explained(bound: Any) -> str:
    """Return what the docstring says between its first line and its example."""
    text = (inspect.getdoc(bound) or "").partition("\n")[2].partition(">>>")[0].strip()
    return re.sub(r"(?<!\()https://[^\s,;)]+[^\s,;).:]", lambda match: f"<{match[0]}>", text) + "\n"


def _fared(name: str, cells: Cells) -> str:
    own = [cell for cell in cells.of(name) if cell.success is not None]
    if not own:
        return "Nothing is measured of it yet.\n"
    return "\n".join([*_summary(own, cells), _worst(name, cells), _all(name, own, cells)])


def _summary(own: list[Cell], cells: Cells) -> list[str]:
    """Return what a rule keeps out and lets in, of the attacks that plain averaging lets in."""
    hard = [cell for cell in own if _plain(cell, cells) >= IN]
    kept = [cell for cell in hard if cell.success <= OUT]
    let_in = [cell for cell in hard if cell.success >= IN]
    lines = [
        f"Of {len(own)} pairs of task and attack that it met, plain averaging fails in {len(hard)} (attack"
        f" success {rate(IN)} or more). Of these it keeps out **{len(kept)}** ({rate(OUT)} or less) and lets"
        f" in **{len(let_in)}** ({rate(IN)} or more)."
        if own[0].defence != PLAIN
        else f"It is no defence: of {len(own)} pairs of task and attack, {len(hard)} get in.",
        "",
    ]
    if own[0].defence != PLAIN:
        lines += [f"- {word}: {_listed(some)}" for word, some in (("Helps", kept), ("Fails", let_in)) if some]
    compared = [(cell, cells.at(cell.task, cell.attack, PLAIN)) for cell in own]
    costs = [plain.accuracy - cell.accuracy for cell, plain in compared if plain]
    if costs and own[0].defence != PLAIN:
        mean = sum(costs) / len(costs)
        word = "loses" if mean >= 0 else "gains"
        lines.append(
            f"- Costs: under these attacks it {word} {abs(mean):.1%} of accuracy against plain averaging,"
            " on average."
        )
    return [*lines, ""]


def _listed(some: list[Cell], *, most: int = 6) -> str:
    by_task: dict[str, list[str]] = {}
    for cell in some:
        by_task.setdefault(cell.task, []).append(cell.attack.removeprefix("edge-case+"))
    texts = []
    for task, attacks in by_task.items():
        more = f" and {len(attacks) - most} more" if len(attacks) > most else ""
        texts.append(f"*{task}* ({', '.join(attacks[:most])}{more})")
    return "; ".join(texts) + "."


def _plain(cell: Cell, cells: Cells) -> float:
    plain = cells.at(cell.task, cell.attack, PLAIN)
    return plain.success if plain and plain.success is not None else 0.0


def _worst(name: str, cells: Cells) -> str:
    """Return the worst attack by task, alone and behind the watch."""
    rows = [["task", "attacks met", "mean", "worst", "by", "worst behind the watch"]]
    for task in dict.fromkeys(cell.task for cell in cells.of(name)):
        own = [cell for cell in cells.of(name) if cell.task == task and cell.success is not None]
        if own:
            worst = max(own, key=lambda cell: cell.success)
            watched = [
                cell for cell in cells.of(WATCH + name) if cell.task == task and cell.success is not None
            ]
            behind = max((cell.success for cell in watched), default=None)
            mean = sum(cell.success for cell in own) / len(own)
            shown = "" if behind is None else f"{marked(behind)} of {len(watched)}"
            rows.append([task, str(len(own)), rate(mean), marked(worst.success), worst.attack, shown])
    return "Attack success, over all attacks that it met on a task:\n\n" + table(rows)


def _all(name: str, own: list[Cell], cells: Cells) -> str:
    rows = [["task", "attack", "accuracy / attack success", "plain averaging", "behind the watch"]]
    for cell in own:
        others = (cells.at(cell.task, cell.attack, other) for other in (PLAIN, WATCH + name))
        rows.append([cell.task, cell.attack, cell.shown, *(one.shown if one else "" for one in others)])
    body = "\n".join(f"    {line}" for line in table(rows).splitlines())
    head = f'??? note "All {len(own)} measurements"\n\n    Means of three seeds; (1), (2): of so many.'
    return f"{head}\n\n{body}\n"


def _needs(bound: Any) -> str:
    needs = [word for asked, word in NEEDS.items() if bound.needs(asked)]
    if "n_malicious" in bound.missing:
        needs.append("the number of attackers per round that it should assume, `n_malicious`")
    if "threshold" in bound.missing:
        needs.append("a number of votes, `threshold`; twice the attackers per round is usual")
    if bound.name in FRONTS:
        needs.append("another rule behind it, its setting `rule`")
    lines = [f"- {need[:1].upper()}{need[1:]}" for need in needs] or ["- Nothing but the updates."]
    return "\n".join(lines) + "\n"


def _cost(name: str, seconds: Mapping[str, float]) -> str:
    if name not in seconds:
        return "Its time was not measured on a large model yet.\n"
    plain = "" if name == PLAIN else f", plain averaging {seconds[PLAIN]:.1f} s"
    return (
        f"A round of 20 clients of ResNet-18 (11 million numbers each) took {seconds[name]:.1f} s{plain}.\n"
    )


def _settings(entry: Choice) -> str:
    if not entry.settings:
        return "None.\n"
    return table(
        [["setting", "default"], *([f"`{key}`", f"`{value}`"] for key, value in entry.settings.items())]
    )


def _use(name: str, bound: Any) -> str:
    given = ", ".join(f"{setting}=4" for setting in bound.missing)
    source = "holdfast" if name in holdfast.__all__ else "holdfast.aggregators"
    call = f"{name}({given})" if given else name
    imports = (
        f"from holdfast import defend\nfrom {source} import {name}"
        if source != "holdfast"
        else (f"from holdfast import defend, {name}")
    )
    return (
        f"```python\n{imports}\n\nresult = defend(models, {call}, base=model)\n```\n\n"
        f"```bash\nholdfast run digits --attack edge-case --defence {name}\n```\n"
    )
