"""What `holdfast list` prints: names alone, a line for each, or all that is known of some."""

from collections.abc import Iterable
from typing import TYPE_CHECKING

from rich.console import Console, Group
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

if TYPE_CHECKING:
    from ..lab.catalogue import Choice
    from .listing import Kind

__all__ = ["print_details", "print_lines", "print_names"]

INDENT = 4

#: How a list of names is headed.
HEADS = {
    "tasks": "tasks to train on",
    "attacks": "backdoors and other parts of attacks, joined by +",
    "defences": "defences",
    "watches": "watches, which may stand before any defence",
}

#: How the names are used.
USES = {
    "tasks": "holdfast run {} --set batch_size=32",
    "attacks": "holdfast run phishing --attack edge-case+collude+adaptive --set cap=5",
    "defences": "holdfast run phishing --attack edge-case --defence invariant --set tau=0.5",
    "watches": "holdfast run phishing --attack edge-case --defence {}+invariant --set hearing=3",
}


def print_names(found: "dict[Kind, list[Choice]]") -> None:
    """Print the names of every kind, and how to see more of them."""
    console = Console(highlight=False)
    for kind, entries in found.items():
        names = _unique(entries)
        console.print(
            f"{len(names)} {HEADS[kind]}" if len(names) > 1 else HEADS[kind].capitalize(), style="bold"
        )
        console.print(Padding("\n".join(_filled(names, console.width - INDENT)), (0, 0, 1, INDENT)))
    console.print("For example: holdfast run phishing --attack edge-case --defence invariant", soft_wrap=True)
    console.print(f"What each of them is: holdfast list {'|'.join(found)}", soft_wrap=True)


def print_lines(kind: "Kind", entries: "list[Choice]") -> None:
    """Print a line for each name, in the groups that there are."""
    from ..lab.catalogue import GROUPS

    console = Console(highlight=False)
    for group in sorted({entry.group for entry in entries}, key=GROUPS.index):
        if group:
            console.print(group[:1].upper() + group[1:], style="bold")
        table = Table.grid(padding=(0, 2), pad_edge=False)
        table.add_column(no_wrap=True)
        table.add_column()
        held = [entry for entry in entries if entry.group == group]
        for name in _unique(held):
            forms = [entry for entry in held if entry.name == name]
            table.add_row(name, Text(forms[0].gist + _where(forms)))
        console.print(Padding(table, (0, 0, 0, INDENT // 2), expand=False), "")
    console.print(f"For example: {USES[kind].format(entries[0].name)}", soft_wrap=True)
    console.print(f"Settings, tasks and papers: holdfast list {kind} NAME", soft_wrap=True)


def print_details(found: "dict[Kind, list[Choice]]", own: str | None) -> None:
    """Print every name with what is behind it, its paper and its settings, and an example."""
    console = Console(highlight=False)
    for one, entries in found.items():
        if entries and len(found) > 1:
            console.print(f"{one.value.capitalize()}:\n")
        for entry in entries:
            console.print(_shown(entry, console.width), "")
    if not any(found.values()):
        console.print(f"{own} holds none: no Task, Attack, Defence or rule.", markup=False)
    elif own is None:
        for one, entries in found.items():
            console.print(f"For example: {_example(one, entries[0])}", soft_wrap=True)
    else:
        console.print(f"For example: holdfast compare {own} --defences fedavg,NAME", soft_wrap=True)


def _unique(entries: "Iterable[Choice]") -> list[str]:
    """Return each name once; some stand for something else on other tasks."""
    return list(dict.fromkeys(entry.name for entry in entries))


def _where(forms: "Iterable[Choice]") -> str:
    """Return the tasks that an entry is for, or is not for; nothing if it is for all of them."""
    from ..lab.tasks import TASKS, base_name

    fitting = {base_name(task) for form in forms for task in form.tasks}
    if not fitting:
        return ""
    known = dict.fromkeys(map(base_name, TASKS))
    named, others = [one for one in known if one in fitting], [one for one in known if one not in fitting]
    return f"; not on {_few(others)}" if len(others) < len(named) else f"; on {_few(named)}"


def _few(tasks: list[str]) -> str:
    """Return the names of up to three tasks, which fit on a line; of more, their number."""
    return ", ".join(tasks) if len(tasks) <= 3 else f"{len(tasks)} tasks"


def _example(kind: str, entry: "Choice") -> str:
    """Return a command that uses an entry, and changes its first setting that is a number."""
    task = entry.tasks[0] if entry.tasks else "phishing"
    commands = {
        "tasks": f"holdfast run {entry.name}",
        "attacks": f"holdfast run {task} --attack {entry.name}",
        "defences": f"holdfast run {task} --attack edge-case --defence {entry.name}",
        "watches": f"holdfast run {task} --attack edge-case --defence {entry.name}+invariant",
    }
    owner = f"{entry.name}." if kind == "defences" else ""  # the task may have a setting of the same name
    numbers = [
        f" --set {name if '.' in name else owner + name}={value}"
        for name, value in entry.settings.items()
        if isinstance(value, int | float) and not isinstance(value, bool) and not name.startswith("n_")
    ]
    return commands[kind] + "".join(numbers[:1])


def _shown(entry: "Choice", width: int) -> Group:
    """Return a name, what is behind it, its paper, and its settings, none of them broken at a line's end."""
    lines = [Text(f" {entry.name} ", style="bold"), Text(entry.what)]
    if entry.tasks:
        lines.insert(1, Text(f"on {', '.join(entry.tasks)}", style="dim"))
    if entry.paper:
        lines.append(Text(entry.paper, style="dim"))
    pairs = [f"{name} = {_spelt(value)}" for name, value in entry.settings.items()]
    if pairs:
        lines.append(Text("\n".join(_filled(pairs, width - INDENT)), style="dim"))
    return Group(lines[0], *(Padding(line, (0, 0, 0, INDENT)) for line in lines[1:]))


def _filled(pairs: list[str], width: int) -> list[str]:
    """Return the pairs with commas between them, on lines no longer than the width where they fit."""
    lines = [""]
    for place, pair in enumerate(pairs):
        piece = pair + ("," if place < len(pairs) - 1 else "")
        joined = f"{lines[-1]} {piece}".lstrip()
        if len(joined) > width and lines[-1]:
            lines.append(piece)
        else:
            lines[-1] = joined
    return lines


def _spelt(value: object) -> str:
    return "not set" if value is None else str(value)
