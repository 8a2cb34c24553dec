"""The numbers of a federation for Prometheus, read from the ledger whenever they are asked for."""

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, get_args

from ... import __version__
from ..._support.printable import printable
from ...ledger.dropping import dropped_replies
from ...watching.verdicts import ACCUSED, Standing
from ..installed import check_installed
from .source import LedgerSource
from .words import is_kept_out, names_of

if TYPE_CHECKING:
    from prometheus_client.core import Metric

__all__ = ["exposition"]

Row = Mapping[str, Any]

STANDINGS = (*get_args(Standing), "not watched")
#: A name of a client makes a time series of its own: so many of the accused have one.
MOST_NAMED = 100

#: Of the last round: the column of the ledger, or what is counted in it, the name, and what it says.
OF_ROUND = {
    "n_asked": ("clients_asked", "Clients that were asked in the last round."),
    "n_used": ("clients_used", "Clients whose update was used in the last round."),
    "n_broken": ("clients_broken", "Clients whose reply could not be used in the last round."),
    "n_kept_out": ("clients_kept_out", "Clients that took part in the last round without a say."),
    "kept_fraction": ("kept_fraction", "Share of the coordinates that the mask kept in the last round."),
    "tolerates": ("tolerated_malicious", "Malicious clients that the guarantee of the rule covers."),
    "seconds": ("round_duration_seconds", "How long the server worked on the last round."),
    "at": ("last_round_timestamp_seconds", "When the last round ended, in Unix time."),
    "accuracy": ("accuracy", "Share of clean inputs answered correctly, where it is measured."),
    "attack_success": ("attack_success", "Share of inputs with the trigger that get the attackers' label."),
    "loss": ("loss", "Loss of the model, where it is measured."),
    "hearing": ("hearing", "1 while the server only listens and applies nothing."),
}
#: Over all rounds that count: what is counted, and what it says.
COUNTED: dict[str, tuple[Callable[[Row], bool], str]] = {
    "rounds": (lambda one: True, "Rounds in the ledger."),
    "rounds_not_aggregated": (
        lambda one: not one["aggregated"],
        "Rounds after which the model stayed as it was, hearings included.",
    ),
    "rewinds": (lambda one: bool(one["rewound"]), "How often the model went back to its start."),
}


def exposition(source: LedgerSource, *, accept: str = "") -> tuple[bytes, str]:
    """Return all numbers as Prometheus reads them, and the type of that text."""
    check_installed("prometheus_client")
    from prometheus_client import CollectorRegistry
    from prometheus_client.exposition import choose_encoder

    registry = CollectorRegistry()
    registry.register(_Ledger(source))
    encode, kind = choose_encoder(accept)
    return encode(registry), kind


class _Ledger:
    """What prometheus_client calls a collector."""

    def __init__(self, source: LedgerSource) -> None:
        self.source = source

    def describe(self) -> "list[Metric]":
        return []  # or the ledger would be read once more

    def collect(self) -> "Iterator[Metric]":
        if self.source.tag() is None:  # no round has ended yet
            yield from (*_of_rounds([]), *_of_clients([]))
            return
        with self.source.opened() as ledger:
            clients, rounds, requests = ledger.clients(), ledger.rounds(), ledger.requests()
            last = dict(rounds[-1]) if rounds else {}
            drops = dropped_replies(ledger, since=last["round"] - 1) if rounds else []
        kept_out = sum(is_kept_out(one["reason"]) for one in drops)
        last |= {"n_kept_out": kept_out, "n_broken": len(drops) - kept_out} if rounds else {}
        yield from (*_of_rounds(rounds), *_of_clients(clients), *_of_last(last))
        awaited = sum(one["answered"] is None for one in requests)
        yield _gauge("decisions_awaited", "Questions that wait for an operator.", {(): awaited})


def _gauge(name: str, says: str, values: "Mapping[tuple[str, ...], float]", *labels: str) -> "Metric":
    from prometheus_client.core import GaugeMetricFamily

    family = GaugeMetricFamily(f"holdfast_{name}", says, labels=labels)
    for label, value in values.items():
        family.add_metric(label, value)
    return family


def _of_rounds(rounds: Sequence[Row]) -> "Iterator[Metric]":
    from prometheus_client.core import CounterMetricFamily

    last = rounds[-1] if rounds else {}
    info = (__version__, *(printable(last.get(name) or "none", limit=200) for name in ("rule", "watch")))
    says = "The rule and the watch, with all settings."
    yield _gauge("federation_info", says, {info: 1}, "version", "rule", "watch")
    yield _gauge("round", "The last round.", {(): last.get("round") or 0})
    for name, (is_counted, says) in COUNTED.items():
        yield CounterMetricFamily(f"holdfast_{name}", says, value=sum(map(is_counted, rounds)))


def _of_last(last: Row) -> "Iterator[Metric]":
    for column, (name, says) in OF_ROUND.items():
        value = last.get(column)
        if isinstance(value, int | float):
            yield _gauge(name, says, {(): float(value)})


def _of_clients(clients: Sequence[Row]) -> "Iterator[Metric]":
    present = [one for one in clients if not one["former"]]
    counts = Counter(one["standing"] or "not watched" for one in present)
    says = "Clients by what the watch says of them after the last round."
    yield _gauge("clients", says, {(standing,): counts[standing] for standing in STANDINGS}, "standing")
    n_banned = sum(bool(one["banned"]) for one in present)
    yield _gauge("clients_banned", "Clients that an operator banned.", {(): n_banned})
    says = "Clients known from before whose ids have not come back; no other number counts them."
    yield _gauge("clients_former", says, {(): len(clients) - len(present)})
    named = [pair for pair in zip(clients, names_of(clients), strict=True) if not pair[0]["former"]]
    accused = [(one, name) for one, name in named if one["standing"] in ACCUSED]
    rank = {standing: place for place, standing in enumerate(ACCUSED)}
    accused.sort(key=lambda pair: (rank[pair[0]["standing"]], pair[0]["since"] or math.inf))
    values: dict[tuple[str, ...], float] = {
        (name, one["standing"], str(one["faction"] or "")): float(one["since"] or 0)
        for one, name in accused[:MOST_NAMED]
    }
    says = f"Since which round a client is accused; 0: it is suspected. {MOST_NAMED} clients at most."
    yield _gauge("accused_since_round", says, values, "client", "standing", "faction")
