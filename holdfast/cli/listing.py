"""holdfast list: what there is to choose from."""

import json
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

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


#: The title of the names, and how they are used.
TITLES = {Kind.TASKS: "task", Kind.ATTACKS: "attack", Kind.DEFENCES: "defence", Kind.WATCHES: "watch"}
USES = {
    Kind.TASKS: "holdfast run {} --set batch_size=32",
    Kind.ATTACKS: "holdfast run phishing --attack edge-case+collude+adaptive --set cap=5",
    Kind.DEFENCES: "holdfast run phishing --attack edge-case --defence invariant --set tau=0.5",
    Kind.WATCHES: "holdfast run phishing --attack edge-case --defence {}+invariant --set hearing=3",
}


def list_command(
    kind: Annotated[Kind | None, typer.Argument(help="What to list; of a file, by default all.")] = None,
    own: Annotated[
        str | None,
        typer.Option("--from", metavar="FILE", help="List what a Python file of your own holds: mine.py."),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """Show all tasks, attacks, defences or watches, with every setting and its default."""
    if kind is None and own is None:
        raise typer.BadParameter(f"name one of {', '.join(Kind)}, or a file with --from", param_hint="KIND")
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
    for one, entries in found.items():
        if entries:
            console.print(_table(one, entries))
    if not any(found.values()):
        console.print(f"{own} holds none: no Task, Attack, Defence or rule.", markup=False)
    elif held is None:
        for one, entries in found.items():
            console.print(f"For example: {USES[one].format(entries[0].name)}", soft_wrap=True)
    else:
        console.print(f"For example: holdfast compare {own} --defences fedavg,NAME", soft_wrap=True)


def _table(kind: Kind, entries: "list[Choice]") -> Table:
    table = Table(show_lines=True)
    table.add_column(TITLES[kind], no_wrap=True)
    if kind is Kind.ATTACKS:
        table.add_column("on")
    table.add_column("what it is")
    table.add_column("settings")
    for entry in entries:
        settings = "\n".join(f"{name} = {value!r}" for name, value in _defaults(entry).items())
        tasks = (", ".join(entry.tasks) or "all",) if kind is Kind.ATTACKS else ()
        table.add_row(entry.name, *tasks, entry.what, settings.replace("'", ""))
    return table


def _defaults(entry: "Choice") -> dict[str, object]:
    return {name: "by the rule" if value is None else value for name, value in entry.settings.items()}
