"""What is written of a round: values that are plain, finite and printable, whatever clients sent."""

import json
import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._support.ids import Name, named
from .._support.printable import printable
from ..core.diagnostics import Diagnostics
from ..watching import Verdicts

__all__ = ["ClientEntry", "RoundEntry", "as_id", "canonical", "entry_of", "finite"]


@dataclass(frozen=True, kw_only=True)
class ClientEntry:
    """What is written of one client in one round. A number that is not known, or not finite, is None."""

    client: Name
    asked: bool = True
    used: bool = False
    examples: float | None = None  # as the client says
    norm: float | None = None
    cosine: float | None = None
    trimmed: float | None = None
    opposed: float | None = None
    weight: float | None = None
    reason: str | None = None  # why it was not used
    code: int | None = None  # the same as a number, where the adapter has such
    duplicate_of: Name | None = None  # the first client that sent exactly the same


@dataclass(frozen=True, kw_only=True)
class RoundEntry:
    """What is written of one round: the server's side, each client's, and what the watch says."""

    round: int
    rule: str
    watch: str | None = None
    aggregated: bool = True
    hearing: bool = False
    rewound: bool = False
    kept_fraction: float | None = None
    tolerates: int | None = None
    model_before: str | None = None
    model_after: str | None = None
    seconds: float | None = None
    accuracy: float | None = None
    attack_success: float | None = None
    loss: float | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    clients: tuple[ClientEntry, ...] = ()
    verdicts: Verdicts | None = None


def entry_of(
    said: Diagnostics,
    verdicts: Verdicts | None = None,
    *,
    round: int,
    rule: str | None = None,
    asked: Collection[Any] | None = None,
    examples: Mapping[Any, float] | None = None,
    codes: Mapping[Any, int] | None = None,
    lengths: Mapping[Any, float] | None = None,
    **facts: Any,
) -> RoundEntry:
    """Return what is to be written of a round, from what its diagnostics and its watch say.

    `rule` is the rule with its settings, `asked` who was asked, if not just those who are told of,
    `examples` are sample counts, `codes` say as numbers why clients were dropped. `lengths` are those of
    updates that no rule has measured, as in a hearing.
    `facts` are further fields of a RoundEntry.

    >>> said = Diagnostics(rule="median", clients=(3, 5), norms=np.array([1.0, np.inf]))
    >>> [(one.client, one.norm) for one in entry_of(said, round=1).clients]
    [(3, 1.0), (5, None)]
    """
    given, why = examples or {}, {named(drop.client): drop.reason for drop in said.dropped}
    numbers = {named(client): code for client, code in (codes or {}).items()}
    counts = {named(client): finite(count) for client, count in given.items()}
    rows = {named(client): row for row, client in enumerate(said.clients)}
    long = {named(client): finite(length) for client, length in (lengths or {}).items()}
    long |= dict.fromkeys((named(client) for client in said.unchanged), 0.0)
    asked_ids = None if asked is None else dict.fromkeys(named(client) for client in asked)
    entries, participants = [], dict.fromkeys([*rows, *why, *(asked_ids or ())])
    twins = _twins(said, participants)
    for client in participants:
        row, measured = rows.get(client), {"norm": long.get(client)}
        if row is not None:
            told = {name: _at(getattr(said, source), row) for name, source in MEASURES.items()}
            measured |= {name: value for name, value in told.items() if value is not None}
        reason = why.get(client)
        entries.append(
            ClientEntry(
                client=client,
                asked=asked_ids is None or client in asked_ids,
                used=said.aggregated and row is not None,
                examples=counts.get(client),
                reason=reason,
                code=numbers.get(client),
                duplicate_of=twins.get(client),
                **measured,
            )
        )
    of_watch = {} if verdicts is None else {"hearing": verdicts.hearing, "rewound": verdicts.rewound}
    return RoundEntry(
        round=round,
        rule=rule or said.rule,
        aggregated=said.aggregated,
        kept_fraction=finite(said.kept_fraction),
        tolerates=said.tolerates,
        notes=said.notes,
        clients=tuple(entries),
        verdicts=verdicts,
        **{**of_watch, **facts},
    )


#: What an entry has of a client, and the array of the diagnostics that it comes from.
MEASURES = {
    "norm": "norms",
    "cosine": "cosines",
    "trimmed": "trimmed_share",
    "opposed": "opposed_share",
    "weight": "client_weights",
}


def as_id(client: Any) -> str:
    """Return a client's id as it is stored, so that 7 and "7" are two.

    >>> as_id(7), as_id("7")
    ('7', '"7"')
    """
    name = named(client)
    return str(name) if isinstance(name, int) else json.dumps(name)


def canonical(value: Any) -> str:
    """Return a value as JSON in one spelling, for digests.

    >>> canonical({"b": 1, "a": [0.5, None]})
    '{"a":[0.5,null],"b":1}'
    """
    return json.dumps(value, sort_keys=True, separators=(",", ":"), allow_nan=False)


def finite(value: Any) -> float | None:
    """Return a number as a float; None for what is none, or not finite.

    >>> finite(2), finite(float("nan")), finite("many")
    (2.0, None, None)
    """
    try:
        number = float(value)
    except (TypeError, ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def plain(value: Any) -> Any:
    """Return numbers, text and lists of them as JSON has them; anything else as printable text."""
    if isinstance(value, np.ndarray | np.generic):
        return plain(value.tolist())
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int):
        return value if abs(value) < 2**63 else printable(value)
    if isinstance(value, float):
        return finite(value)
    if isinstance(value, list | tuple):
        return [plain(item) for item in value]
    return printable(value, limit=1000)


def _twins(said: Diagnostics, participants: Collection[Name]) -> dict[Name, Name]:
    """Return [client] the first participant that sent the same."""
    groups = [
        [name for name in map(named, group) if name in participants]
        for group in (*said.identical, said.unchanged)
    ]
    return {name: group[0] for group in groups for name in group[1:]}


def _at(values: Any, row: int) -> float | None:
    return None if values is None else finite(values[row])
