"""holdfast list: what there is to choose from."""

import json
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console, Group
from rich.padding import Padding
from rich.text import Text

from . import options
from .shown import errors_shown

if TYPE_CHECKING:
    from ..lab.catalogue import Choice

__all__ = ["Kind", "list_command"]


class Kind(StrEnum):
    """What can be listed."""

    TASKS = "tasks"
    ATTACKS = "attacks"
    DEFENCES = "defences"
    WATCHES = "watches"


INDENT = 4

#: How a list of names is headed.
HEADS = {
    Kind.TASKS: "tasks to train on",
    Kind.ATTACKS: "backdoors and other parts of attacks, joined by +",
    Kind.DEFENCES: "defences",
    Kind.WATCHES: "watches, which may stand before any defence",
}

#: How the names are used.
USES = {
    Kind.TASKS: "holdfast run {} --set batch_size=32",
    Kind.ATTACKS: "holdfast run phishing --attack edge-case+collude+adaptive --set cap=5",
    Kind.DEFENCES: "holdfast run phishing --attack edge-case --defence invariant --set tau=0.5",
    Kind.WATCHES: "holdfast run phishing --attack edge-case --defence {}+invariant --set hearing=3",
}


def list_command(
    kind: Annotated[
        Kind | None,
        typer.Argument(
            metavar="[KIND]",
            help=f"One of {', '.join(Kind)}, to see all settings; by default, only the names of all four.",
        ),
    ] = None,
    own: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FILE", help="List what your own Python file defines, such as mine.py."
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List the tasks, attacks, defences and watches; name one kind to see its settings and defaults."""
    with errors_shown():
        from ..lab.catalogue import list_choices
        from ..lab.own import load_own

        held = None if own is None else load_own(own)
        kinds = [kind] if kind else list(Kind)
        found = {one: list_choices(one.value, own=held) for one in kinds}
    if as_json:
        told = {one.value: [asdict(entry) for entry in entries] for one, entries in found.items()}
        typer.echo(json.dumps(told if kind is None else told[kind.value], indent=2))
        return
    console = Console(highlight=False)
    if kind is None and held is None:
        _print_names(console, found)
    else:
        _print_settings(console, found, own)


def _print_names(console: Console, found: "dict[Kind, list[Choice]]") -> None:
    """Print the names of every kind, and how to see more of them."""
    for kind, entries in found.items():
        names = list(dict.fromkeys(entry.name for entry in entries))  # some exist once per task
        console.print(
            f"{len(names)} {HEADS[kind]}" if len(names) > 1 else HEADS[kind].capitalize(), style="bold"
        )
        console.print(Padding("\n".join(_filled(names, console.width - INDENT)), (0, 0, 1, INDENT)))
    console.print(f"With settings, papers and examples: holdfast list {'|'.join(found)}", soft_wrap=True)
    console.print("For example: holdfast run phishing --attack edge-case --defence invariant", soft_wrap=True)


def _print_settings(console: Console, found: "dict[Kind, list[Choice]]", own: str | None) -> None:
    """Print every name with what is behind it, its paper and its settings, and an example."""
    for one, entries in found.items():
        if entries and len(found) > 1:
            console.print(f"{one.value.capitalize()}:\n")
        for entry in entries:
            console.print(_shown(entry, console.width), "")
    if not any(found.values()):
        console.print(f"{own} holds none: no Task, Attack, Defence or rule.", markup=False)
    elif own is None:
        for one, entries in found.items():
            console.print(f"For example: {USES[one].format(entries[0].name)}", soft_wrap=True)
    else:
        console.print(f"For example: holdfast compare {own} --defences fedavg,NAME", soft_wrap=True)


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
