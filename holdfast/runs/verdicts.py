"""What a watch said after a round, as it is stored: column by column, in few digits, and back."""

from collections.abc import Iterable, Mapping
from dataclasses import fields
from typing import Any

from .._support.printable import printable
from ..errors import DataError
from ..watching import Verdict, Verdicts

__all__ = ["restored_verdicts", "stored_verdicts", "watch_summary"]


def stored_verdicts(verdicts: Verdicts) -> dict[str, Any]:
    """Return the verdicts as plain values; of the clients, one list per field that says anything.

    >>> ann, bob = Verdict("ann", "clear", heard=2), Verdict("bob", "expelled", heard=1, since=6)
    >>> stored_verdicts(Verdicts(7, (ann, bob)))["clients"]
    {'client': ['ann', 'bob'], 'standing': ['clear', 'expelled'], 'heard': [2, 1], 'since': [None, 6]}
    """
    columns = {field: [getattr(one, field.name) for one in verdicts] for field in fields(Verdict)}
    said = {
        field.name: [_short(value) for value in column]
        for field, column in columns.items()
        if any(value != field.default for value in column)
    }
    rest = {field.name: _short(getattr(verdicts, field.name)) for field in fields(Verdicts)}
    return {**rest, "clients": said}


def restored_verdicts(stored: Mapping[str, Any]) -> Verdicts:
    """Return the verdicts that `stored_verdicts` took apart; a DataError if they are damaged.

    >>> said = Verdicts(7, (Verdict("bob", "expelled", heard=1, since=6, place=(8.5, -0.25)),), shared=0.1)
    >>> restored_verdicts(stored_verdicts(said)) == said
    True
    """
    try:
        columns = stored["clients"]
        rows = zip(*columns.values(), strict=True)
        clients = [Verdict(**dict(zip(columns, map(_tupled, row), strict=True))) for row in rows]
        return Verdicts(**{**stored, "clients": tuple(clients)})
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        why = printable(repr(error), limit=200)
        raise DataError(f"these are no verdicts, or damaged ones: {why}") from None


def watch_summary(records: Iterable[Mapping[str, Any]]) -> dict[str, Any] | None:
    """Return what is kept of a watch over all rounds: the last verdicts, and which rounds were no training.

    None if nobody watched.

    >>> watch_summary([{"round": 1}]) is None
    True
    """
    watched = [(record["round"], record["verdicts"]) for record in records if "verdicts" in record]
    if not watched:
        return None
    return {
        "hearings": [number for number, said in watched if said["hearing"]],
        "rewinds": [number for number, said in watched if said["rewound"]],
        "verdicts": watched[-1][1],
    }


def _short(value: Any) -> Any:
    """Return a value as JSON has it, numbers to three digits."""
    if isinstance(value, tuple | list):
        return [_short(item) for item in value]
    return float(f"{value:.3g}") if isinstance(value, float) else value


def _tupled(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) else value
