"""holdfast list: what there is to choose from."""

import json
from dataclasses import asdict
from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

from .._support.lookup import listed_by, nearest, offered
from ..errors import InputError
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


def list_command(
    kind: Annotated[
        Kind | None,
        typer.Argument(
            metavar="[KIND]",
            help=f"One of {', '.join(Kind)}, to see what each of them is; by default, only the names of all"
            " four.",
        ),
    ] = None,
    names: Annotated[
        list[str] | None,
        typer.Argument(metavar="[NAME]...", help="Names to see with all settings, tasks and papers."),
    ] = None,
    own: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="FILE", help="List what your own Python file defines, such as mine.py."
        ),
    ] = None,
    as_json: options.Json = False,
) -> None:
    """List the tasks, attacks, defences and watches; name one to see its settings and defaults."""
    with errors_shown():
        from ..lab.catalogue import list_choices
        from ..lab.own import load_own

        held = None if own is None else load_own(own)
        kinds = [kind] if kind else list(Kind)
        found = {one: list_choices(one.value, own=held) for one in kinds}
        if kind and names:
            found[kind] = _named(kind, found[kind], names, own)
    if as_json:
        told = {one.value: [asdict(entry) for entry in entries] for one, entries in found.items()}
        typer.echo(json.dumps(told if kind is None else told[kind.value], indent=2))
        return
    from . import listing_shown

    if held is not None or names:
        listing_shown.print_details(found, own)
    elif kind is None:
        listing_shown.print_names(found)
    else:
        listing_shown.print_lines(kind, found[kind])


def _named(kind: Kind, entries: "list[Choice]", names: list[str], own: str | None) -> "list[Choice]":
    """Return the entries of these names, in the order of the names; parts may be joined by +."""
    found = []
    for name in dict.fromkeys(part for joined in names for part in joined.split("+")):
        wanted = name.replace("-", "_") if kind is Kind.DEFENCES else name
        fitting = [entry for entry in entries if entry.name in (name, wanted)]
        if not fitting:
            one = kind.removesuffix("es" if kind is Kind.WATCHES else "s")
            raise InputError(f"no {one} {name!r}{_offered(kind, entries, name, own)}")
        found += fitting
    return found


def _offered(kind: Kind, entries: "list[Choice]", name: str, own: str | None) -> str:
    """Return the end of the message that there is no entry of this name."""
    from ..lab.catalogue import list_choices

    known = list(dict.fromkeys(entry.name for entry in entries))
    if own is not None:
        return f" in {own}{offered(name, known, lead='It has')}"
    for other in Kind:
        if any(entry.name == name for entry in list_choices(other.value)):
            return f": it is one of the {other}, see 'holdfast list {other} {name}'"
    return f"; {nearest(name, known)}{listed_by(kind, len(known))}"
