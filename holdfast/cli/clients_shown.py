"""Clients of a federation as lines of text: a table of all, the history of one."""

import re
import shutil
import sys
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from .._support.counting import counted
from .._support.printable import printable
from ..watching.verdicts import ACCUSED

__all__ = ["client_history", "client_table"]

N_SHOWN = 20  # rounds of a client's history

#: The columns beside the client's id, the most important first: a narrow terminal shows the first ones.
COLUMNS: dict[str, Callable[[dict[str, Any]], str]] = {
    "standing": lambda one: one["standing"] or "-",
    "remark": lambda one: one["remarks"][0] if one["remarks"] else "-",
    "decided": lambda one: _decision(one) or "-",
    "run": lambda one: "earlier" if one["former"] else "-",
    "since": lambda one: str(one["since"] or "-"),
    "faction": lambda one: str(one["faction"] or "-") if _is_accused(one) else "-",
    "used": lambda one: str(one["n_used"]),
    "dropped": lambda one: str(one["n_dropped"]),
    "length": lambda one: _number(one["norm"], ".3g"),
    "trimmed": lambda one: _number(one["trimmed"], ".0%"),
    "opposed": lambda one: _number(one["opposed"], ".0%"),
    "last": lambda one: str(one["last_round"] or "-"),
}


def client_table(clients: Sequence[dict[str, Any]]) -> Iterator[str]:
    """Yield a head and one line per client, the most suspicious first.

    Columns that say nothing of anybody are left out; so are the last ones where a terminal has no room.
    """
    clients = sorted(clients, key=_rank)
    columns = [["client", *(printable(one["id"], limit=40) for one in clients)]]
    for title, cell in COLUMNS.items():
        cells = [cell(one) for one in clients]
        if set(cells) != {"-"}:
            columns.append([title, *cells])
    widths = [max(map(len, column)) for column in columns]
    room = shutil.get_terminal_size().columns if sys.stdout.isatty() else sum(widths) + 2 * len(widths)
    while len(widths) > 2 and sum(widths) + 2 * (len(widths) - 1) > room:
        widths.pop()
    for row in zip(*columns, strict=True):
        yield "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=False)).rstrip()


def client_history(client: dict[str, Any]) -> Iterator[str]:
    """Yield what is known of a client, as an operator reads it."""
    standing = (client["standing"] or "no verdict", _decision(client), *client["remarks"])
    stands = ", ".join(filter(None, standing))
    yield f"client {printable(client['id'])}: {stands}"
    if client["former"]:
        yield "  of an earlier run: its id has not come back since clients got new ids"
    yield f"  first heard in round {client['first_round']}, last in {client['last_round']}"
    used, dropped = (counted(client[name], "round") for name in ("n_used", "n_dropped"))
    yield f"  used in {used}, dropped in {dropped}"
    for one in client["standings"]:
        alarm = _number(one["false_alarm"], ".2g")
        yield f"  from round {one['round']}: {one['standing']}{_faction(one)}, false alarm {alarm}"
    for one in client["decisions"]:
        why = f": {one['why']}" if one["why"] else ""
        yield f"  after round {one['round']}: {one['action']} by {one['by']}{why}"
    for one in client["entries"][-N_SHOWN:]:
        yield f"  round {one['round']}: {_entry(one)}"


def _faction(one: dict[str, Any]) -> str:
    """Return with whom a client votes; one that is clear does so no more than honest clients may."""
    if not one["faction"]:
        return ""
    if _is_accused(one):
        return f", votes with faction {one['faction']}"
    return f", nearest to faction {one['faction']} but no more than honest clients may be"


def _is_accused(one: dict[str, Any]) -> bool:
    return one["standing"] in ACCUSED


def _entry(one: dict[str, Any]) -> str:
    """Return what became of a client's update in a round, and what was measured of it."""
    fate = "used" if one["used"] else one["reason"] or "heard"
    measured = {"length": ("norm", ".3g"), "cosine": ("cosine", ".2f")}
    measured |= {"trimmed": ("trimmed", ".0%"), "opposed": ("opposed", ".0%")}
    numbers = [f"{title} {_number(one[name], spec)}" for title, (name, spec) in measured.items()]
    known = f", {', '.join(numbers)}" if one["norm"] is not None else ""
    twin = one["same_as"]
    same = "" if twin is None else f", the same as client {printable(twin)} sent"
    return f"{fate}{known}{', the global model unchanged' if one['norm'] == 0 else same}"


def _rank(one: dict[str, Any]) -> tuple[bool, int, list[tuple[int, str]]]:
    """Return where a client stands in the table: by its run, how much is held against it, and its id."""
    is_accused = (one["standing"] == standing for standing in ACCUSED)
    against = (one["banned"], *is_accused, one["remarks"], one["n_dropped"])
    place = next((place for place, is_so in enumerate(against) if is_so), len(against))
    parts = re.findall(r"\d+|\D+", str(one["id"]))
    return one["former"], place, [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


def _decision(one: dict[str, Any]) -> str:
    return "banned" if one["banned"] else "pardoned" if one["pardoned"] else ""


def _number(value: float | None, spec: str) -> str:
    return "-" if value is None else format(value, spec)
