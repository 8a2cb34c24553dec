"""A page per part of an attack's name: what it does, and which defences it gets past."""

from typing import Any

from holdfast.lab import TASKS, attack_named
from holdfast.lab.attack_parts import ATTACKS, BACKDOORS
from holdfast.lab.catalogue import Choice, list_choices

from . import equations
from .choosing import linked
from .rules import explained
from .stored import IN, OUT, PLAIN, Cells, marked, table

#: Parts that need no backdoor.
UNTARGETED = ("alie", "inner-product", "sign-flip", "gaussian", "poisoned-fl")
#: Backdoors first, then what is joined to them.
NAMES = tuple(dict.fromkeys(name for own in BACKDOORS.values() for name in own)) + tuple(ATTACKS)


def make(cells: Cells) -> dict[str, str]:
    """Return the pages of all attacks, by address."""
    entries: dict[str, list[Choice]] = {}
    for entry in list_choices("attacks"):
        entries.setdefault(entry.name, []).append(entry)
    return {f"attack/{name}.md": _page(name, entries[name], cells) for name in NAMES}


def _page(name: str, entries: list[Choice], cells: Cells) -> str:
    is_backdoor = bool(entries[0].tasks)
    kinds = list(dict.fromkeys(entry.what for entry in entries))
    parts = [f"---\ntitle: {name}\n---\n\n# {name}\n"]
    if is_backdoor:
        parts.append(
            "A backdoor: what attackers teach the model. Alone or with parts behind it, `" + name + "+…`.\n"
        )
        for what in kinds:
            tasks = ", ".join(task for entry in entries if entry.what == what for task in entry.tasks)
            parts.append(f"- On {tasks}: {what[:1].lower()}{what[1:]}")
        parts.append("")
    else:
        parts.append(f"{kinds[0]} {_joined(name)}\n")
    if name in equations.ATTACKS:
        parts += [
            f"{equations.drawn(equations.ATTACKS[name])}\n",
            f"<small>{equations.ATTACK_SYMBOLS}</small>\n",
        ]
    parts += [text for text in dict.fromkeys(explained(one) for one in _functions(name)) if text.strip()]
    parts += ["## Who keeps it out\n", _fared(name, cells), "## Settings\n", _settings(entries)]
    task = entries[0].tasks[0] if is_backdoor else "digits"
    parts += [
        "## Run it\n",
        f"```bash\nholdfast run {task} --attack {_example(name)} --defence factions+krum_trimmed_mean\n```\n",
    ]
    papers = [paper for paper in dict.fromkeys(entry.paper for entry in entries) if paper]
    links = [
        *(f"[Paper]({paper})" for paper in papers),
        "[All attacks](../attacks.md)",
        "[Threat model](../concepts/threat-model.md)",
    ]
    return "\n".join([*parts, " · ".join(links) + "\n"])


def _joined(name: str) -> str:
    if name in UNTARGETED:
        return "It needs no backdoor, and spoils the model for all inputs."
    return f"It is joined to a backdoor: `{_example(name)}`."


def _example(name: str) -> str:
    """Return an attack with this part in it, as the tables have it."""
    backdoors = {"f3ba": "distributed+f3ba", "soda": "foreign+soda", "cerberus": "tuned+cerberus"}
    if name in UNTARGETED or name not in ATTACKS:
        return name
    return backdoors.get(name, f"edge-case+{name}")


def _functions(name: str) -> list[Any]:
    if name in ATTACKS:
        attack = attack_named(name, TASKS["digits"])
        return [one.function for one in (attack.train, *attack.crafts) if one is not None]
    return [own[name].function for own in BACKDOORS.values() if name in own]


def _fared(name: str, cells: Cells) -> str:
    """Return attack success by defence and task, the best defence first."""
    under = [cell for cell in cells.under(name) if cell.success is not None]
    untargeted = [cell for cell in cells.under(name) if cell.success is None]
    if untargeted and not under:
        return "It has no target: what it does shows in the accuracy.\n\n" + _accuracies(untargeted, cells)
    if not under:
        return "Nothing is measured of it yet.\n"
    attack = min((cell.attack for cell in under), key=len)
    under = [cell for cell in under if cell.attack == attack]
    kept = [cell for cell in under if cell.success <= OUT]
    let_in = [cell for cell in under if cell.success >= IN]
    tasks = list(dict.fromkeys(cell.task for cell in under))
    by_defence: dict[str, dict[str, float]] = {}
    for cell in under:
        by_defence.setdefault(cell.defence, {})[cell.task] = cell.success
    ordered = sorted(
        by_defence,
        key=lambda one: (-len(by_defence[one]), sum(by_defence[one].values()) / len(by_defence[one])),
    )
    rows = [["defence", *tasks]]
    for defence in ordered:
        own = by_defence[defence]
        rows.append(
            [linked(defence, up="../"), *(marked(own[task]) if task in own else "" for task in tasks)]
        )
    return (
        f"Attack success of `{attack}`, means of the seeds. Of {len(under)} pairs of task and defence,"
        f" {len(kept)} keep it out (.10 or less), {len(let_in)} let it in (.50 or more).\n\n"
        + table(rows, numbers=len(tasks))
    )


def _accuracies(under: list[Any], cells: Cells) -> str:
    rows = [["task", "defence", "accuracy", "without an attack, plain averaging"]]
    for cell in under:
        clean = cells.at(cell.task, "none", PLAIN)
        rows.append(
            [
                cell.task,
                linked(cell.defence, up="../"),
                f"{cell.accuracy:.3f}",
                f"{clean.accuracy:.3f}" if clean else "",
            ]
        )
    return table(rows, numbers=2)


def _settings(entries: list[Choice]) -> str:
    rows = [["setting", "default", "on"]] if entries[0].tasks else [["setting", "default"]]
    for entry in entries:
        for key, value in entry.settings.items():
            rows.append([f"`{key}`", f"`{value}`", *([", ".join(entry.tasks)] if entry.tasks else [])])
    return table(rows) if len(rows) > 1 else "None.\n"
