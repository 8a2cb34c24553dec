"""What is stored of a round, and what is kept of all rounds once a run is packed."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from .._support.counting import is_number
from .._support.printable import printable
from ..lab.leaks import Let
from ..lab.simulation import Record
from .verdicts import restored_verdicts, stored_verdicts, watch_summary

__all__ = ["COLUMNS", "OPTIONAL", "Column", "Summary", "check_summary", "stored_record"]

#: What is kept of every round.
COLUMNS = ("accuracy", "attack_success", "n_attackers", "kept_fraction", "n_dropped", "seconds")
#: What is kept beside it of the runs that measure it.
OPTIONAL = ("minority_accuracy", "n_found", "n_wronged", *Let._fields)
#: What every round has a number of.
ALWAYS = ("accuracy", "n_attackers", "n_dropped", "seconds")

Column = Sequence[float | None]


@dataclass(frozen=True)
class Summary:
    """What is kept of a run's records: numbers per round and, over all rounds, per client.

    >>> Summary({"accuracy": [0.5, 0.9]}).rounds["accuracy"][-1]
    0.9
    """

    rounds: Mapping[str, Column]  # [column] one number per round
    n_drawn: Mapping[str, int] = field(default_factory=dict)  # [client] in how many rounds it was
    trimmed_share: Mapping[str, float] = field(default_factory=dict)  # [client] of its values, on average
    malicious: Sequence[int] = ()  # those that were drawn: of the others nothing is known
    dropped: Mapping[str, int] = field(default_factory=dict)  # [reason] how many updates
    watched: Mapping[str, Any] | None = None  # what became of the clients under a watch, if there was one
    lost: Sequence[int] | None = None  # rounds that aggregated nothing, if any did; a hearing is none of them

    @classmethod
    def of(cls, records: Iterable[Mapping[str, Any]]) -> "Summary":
        """Return the summary of stored records.

        >>> Summary.of([]).rounds["accuracy"]
        []
        """
        records = list(records)
        columns = (*COLUMNS, *(name for name in OPTIONAL if any(name in record for record in records)))
        shares: dict[str, list[float]] = {}
        for seen in (record["diagnostics"] for record in records):
            for client, share in zip(seen["clients"], seen["trimmed_share"] or (), strict=False):
                shares.setdefault(str(client), []).append(share)
        return cls(
            {name: [_number(record, name) for record in records] for name in columns},
            dict(Counter(str(client) for record in records for client in record["clients"])),
            {client: _rounded(sum(given) / len(given)) for client, given in shares.items()},
            sorted({client for record in records for client in record["attackers"]}),
            dict(Counter(reason for record in records for reason in _unusable(record))),
            watch_summary(records),
            [record["round"] for record in records if _is_lost(record)] or None,
        )


def check_summary(summary: Summary) -> None:
    """Raise unless a summary that was stored holds what it should: finite numbers, and clients by number.

    >>> check_summary(Summary({"accuracy": [0.5, "a half"]}))
    Traceback (most recent call last):
    TypeError: accuracy must hold numbers; got 'a half'
    """
    for name, column in summary.rounds.items():
        _check_all(name, column, "numbers", may_lack=name not in ALWAYS)
    _check_all("trimmed_share", summary.trimmed_share.values(), "numbers", may_lack=True)
    counts = {"n_drawn": summary.n_drawn.values(), "dropped": summary.dropped.values()}
    for name, numbers in {**counts, "malicious": summary.malicious}.items():
        _check_all(name, numbers, "whole numbers")
    _check_all("lost", summary.lost or (), "whole numbers")
    if summary.watched is not None:
        for name in ("hearings", "rewinds"):
            _check_all(name, summary.watched[name], "whole numbers")
        for one in restored_verdicts(summary.watched["verdicts"]):
            _check_all("verdicts", (one.client, one.since or 0), "whole numbers")


def stored_record(record: Record) -> dict[str, Any]:
    """Return a record as plain numbers, strings and lists; diagnostics have six digits, to save room."""
    optional = {name: getattr(record, name) for name in OPTIONAL}
    optional |= _all_rounded({name: getattr(record, name) for name in Let._fields})
    if record.verdicts is not None:
        optional["verdicts"] = stored_verdicts(record.verdicts)
    return {
        "round": record.round,
        "accuracy": record.accuracy,
        "attack_success": record.attack_success,
        "n_attackers": record.n_attackers,
        "clients": list(record.clients),
        "attackers": list(record.attackers),
        "diagnostics": _all_rounded(record.diagnostics.as_dict()),
        "seconds": _rounded(record.seconds),
        **{name: value for name, value in optional.items() if value is not None},
    }


def _check_all(name: str, values: Iterable[Any], kind: str, *, may_lack: bool = False) -> None:
    """Raise for the first of the values that is not of this kind, nor None where that may be."""
    for value in values:
        if value is None and may_lack:
            continue
        if not is_number(value) or (kind == "whole numbers" and not isinstance(value, int)):
            raise TypeError(f"{name} must hold {kind}; got {printable(repr(value))}")


def _unusable(record: Mapping[str, Any]) -> list[str]:
    """Return why updates could not be used. Those of expelled clients could be, and are told of elsewhere."""
    reasons = [drop["reason"] for drop in record["diagnostics"]["dropped"]]
    return [reason for reason in reasons if not reason.startswith(("expelled ", "counts as one "))]


def _is_lost(record: Mapping[str, Any]) -> bool:
    """Return whether nothing was aggregated, other than in a hearing or a rewind."""
    said = record.get("verdicts", {"hearing": False, "rewound": False})
    return not (record["diagnostics"]["aggregated"] or said["hearing"] or said["rewound"])


def _number(record: Mapping[str, Any], name: str) -> float | None:
    """Return what a record has in a column."""
    if name == "n_dropped":
        return len(_unusable(record))
    if name in OPTIONAL:
        return record.get(name)
    number: float | None = record["diagnostics"][name] if name == "kept_fraction" else record[name]
    return number


def _all_rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _all_rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_all_rounded(item) for item in value]
    return _rounded(value) if isinstance(value, float) else value


def _rounded(value: float) -> Any:
    """Return a number to six digits; None for what JSON does not know."""
    return float(f"{value:.6g}") if math.isfinite(value) else None
