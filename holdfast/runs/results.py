"""What came out of a run: a record per round while it is made, and a summary of them for good."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from .. import __version__
from .._support.keys import key_of
from ..errors import DataError
from ..lab.scenario import Run
from ..lab.simulation import Record
from . import store

__all__ = [
    "Result",
    "Summary",
    "find_result",
    "list_results",
    "load_result",
    "pack_results",
    "stored_record",
]

#: What is kept of every round.
COLUMNS = ("accuracy", "attack_success", "n_attackers", "kept_fraction", "n_dropped", "seconds")

Numbers = Sequence[float | None]


@dataclass(frozen=True)
class Summary:
    """What is kept of a run's records: numbers per round and, over all rounds, per client.

    >>> Summary({"accuracy": [0.5, 0.9]}).rounds["accuracy"][-1]
    0.9
    """

    rounds: Mapping[str, Numbers]  # [column] one number per round
    n_drawn: Mapping[str, int] = field(default_factory=dict)  # [client] in how many rounds it was
    trimmed_share: Mapping[str, float] = field(default_factory=dict)  # [client] of its values, on average
    malicious: Sequence[int] = ()  # those that were drawn: of the others nothing is known
    dropped: Mapping[str, int] = field(default_factory=dict)  # [reason] how many updates

    @classmethod
    def of(cls, records: Iterable[Mapping[str, Any]]) -> "Summary":
        """Return the summary of these records.

        >>> Summary.of([]).rounds["accuracy"]
        []
        """
        records = list(records)
        drawn: dict[str, int] = {}
        shares: dict[str, list[float]] = {}
        dropped: dict[str, int] = {}
        for record in records:
            seen = record["diagnostics"]
            for client in map(str, record["clients"]):
                drawn[client] = drawn.get(client, 0) + 1
            for client, share in zip(map(str, seen["clients"]), seen["trimmed_share"] or (), strict=False):
                shares.setdefault(client, []).append(share)
            for reason in (drop["reason"] for drop in seen["dropped"]):
                dropped[reason] = dropped.get(reason, 0) + 1
        return cls(
            {name: [_number(record, name) for record in records] for name in COLUMNS},
            drawn,
            {client: _rounded(sum(given) / len(given)) for client, given in shares.items()},
            sorted({client for record in records for client in record["attackers"]}),
            dropped,
        )


@dataclass(frozen=True)
class Result:
    """A run's result: what determines it, who made it, and what came out so far.

    >>> from holdfast.lab import TASKS
    >>> Result.start(Run(TASKS["phishing"])).task
    'phishing'
    """

    description: Mapping[str, Any]
    device: str = "cpu"
    version: str = __version__
    data: str | None = None  # the checksum of the examples; None before the first round
    finished: bool = False
    records: tuple[Mapping[str, Any], ...] = ()  # one per round, in full; none once it is packed
    packed: Summary | None = None

    @classmethod
    def start(cls, run: Run, *, device: str = "cpu") -> "Result":
        """Return the result of a run before its first round."""
        return cls(run.description, device)

    @cached_property
    def key(self) -> str:
        """What the result is stored under."""
        return key_of(self.description)

    @property
    def task(self) -> str:
        """The name of the task."""
        return str(self.description["task"]["name"])

    @property
    def attack(self) -> str:
        """The name of the attack."""
        return str(self.description["attack"]["name"])

    @property
    def defence(self) -> str:
        """The name of the defence."""
        return str(self.description["defence"]["name"])

    @property
    def seed(self) -> int:
        """The seed of all random numbers."""
        return int(self.description["seed"])

    @property
    def n_rounds(self) -> int:
        """How many rounds the run has when it is finished."""
        return int(self.description["task"]["n_rounds"])

    @property
    def n_done(self) -> int:
        """How many rounds are in the result."""
        return len(self.series("accuracy"))

    @property
    def described(self) -> str:
        """All that determines the result, in one line."""
        parts = {
            name: ", ".join(f"{own}={value}" for own, value in part.items())
            if isinstance(part, Mapping)
            else part
            for name, part in self.description.items()
        }
        return "; ".join(f"{name}: {part}" for name, part in parts.items())

    @cached_property
    def summary(self) -> Summary:
        """What is known of the run once its records are gone."""
        return self.packed or Summary.of(self.records)

    def series(self, name: str) -> Numbers:
        """Return one of COLUMNS: a number per round, None where there is none."""
        return self.summary.rounds[name]

    def last(self, name: str) -> float | None:
        """Return that number after the last round; None where there is none."""
        numbers = self.series(name)
        return numbers[-1] if numbers else None

    def mean(self, name: str) -> float | None:
        """Return its mean over the rounds that have it; None where none has."""
        numbers = [number for number in self.series(name) if number is not None]
        return sum(numbers) / len(numbers) if numbers else None

    def as_entry(self) -> store.Entry:
        """Return the result as it is stored while it is loose, with all its records."""
        own = {"device": self.device, "finished": self.finished, "records": list(self.records)}
        return store.new_entry(self.description, data=self.data, **own)


def find_result(run: Run, folder: Path) -> tuple[Result | None, list[str]]:
    """Return what is stored of a run, finished or else in the making, and why other files are not used.

    >>> from holdfast.lab import TASKS
    >>> find_result(Run(TASKS["phishing"]), Path("nowhere"))
    (None, [])
    """
    unusable: list[str] = []
    for where, content in store.found_entries(run.key, run.task.name, folder):
        try:
            return result_of(store.checked(content, key=run.key)), unusable
        except DataError as error:
            unusable.append(f"{where} cannot be used: {error}")
    return None, unusable


def load_result(run: Run, folder: Path) -> Result:
    """Return what is stored of a run, finished or else in the making; a DataError if there is nothing.

    >>> from holdfast.lab import TASKS
    >>> load_result(Run(TASKS["phishing"]), Path("nowhere"))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    holdfast.errors.DataError: no result ... in nowhere: phishing, attack none, defence fedavg, seed 0
    """
    result, unusable = find_result(run, folder)
    if result is None:
        names = f"{run.task.name}, attack {run.attack.name}, defence {run.defence.name}, seed {run.seed}"
        raise DataError("; ".join(unusable) or f"no result {run.key} in {folder}: {names}")
    return result


def list_results(folder: Path) -> tuple[list[Result], dict[str, str]]:
    """Return all results in a folder, finished or in the making, and [where] why something cannot be used.

    >>> list_results(Path("nowhere"))
    ([], {})
    """
    found: dict[str, Result] = {}
    unusable: dict[str, str] = {}
    for where, content in store.all_entries(folder):
        try:
            result = result_of(store.checked(content))
            found.setdefault(result.key, result)  # what comes first is what a reader gets
        except DataError as error:
            unusable[where] = str(error)
    order = sorted(found.values(), key=lambda one: (one.task, one.attack, one.defence, one.seed, one.key))
    return order, unusable


def pack_results(folder: Path) -> list[str]:
    """Move finished results into packed files, which keep their summaries; return their keys.

    >>> pack_results(Path("nowhere"))
    []
    """
    return store.pack(folder, _compact)


def _compact(entry: store.Entry) -> store.Entry | None:
    """Return a finished run with the summary of its records in their place."""
    result = result_of(entry)
    if not result.finished:
        return None
    head = {name: entry[name] for name in ("key", "description", "code", "version", "data", "device")}
    return head | {"summary": asdict(result.summary)}


def result_of(entry: store.Entry) -> Result:
    """Return the result in an entry, loose or packed; a DataError if something is missing or does not fit.

    >>> result_of({"description": {"task": {"n_rounds": 2}}})
    Traceback (most recent call last):
    holdfast.errors.DataError: it is not the result of a run, or is damaged: KeyError('device')
    """
    try:
        head = entry["description"], entry["device"], entry["version"], entry["data"]
        if "summary" in entry:
            result = Result(*head, True, packed=Summary(**entry["summary"]))
        else:
            result = Result(*head, entry["finished"], tuple(entry["records"]))
        n_done = {len(result.series(name)) for name in COLUMNS}
        is_whole = n_done == {result.n_rounds} or (not result.finished and max(n_done) < result.n_rounds)
        in_order = all(record["round"] == number for number, record in enumerate(result.records, 1))
        names = result.task, result.attack, result.defence, result.seed
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise DataError(f"it is not the result of a run, or is damaged: {error!r}") from None
    if not is_whole or not in_order:
        raise DataError(f"it is damaged: of the {result.n_rounds} rounds of {names} it has {sorted(n_done)}")
    return result


def stored_record(record: Record) -> dict[str, Any]:
    """Return a record as plain numbers, strings and lists; diagnostics have six digits, to save room."""
    return {
        "round": record.round,
        "accuracy": record.accuracy,
        "attack_success": record.attack_success,
        "n_attackers": record.n_attackers,
        "clients": list(record.clients),
        "attackers": list(record.attackers),
        "diagnostics": _all_rounded(record.diagnostics.as_dict()),
        "seconds": round(record.seconds, 6),
    }


def _number(record: Mapping[str, Any], name: str) -> float | None:
    """Return what a record has in a column."""
    if name == "n_dropped":
        return len(record["diagnostics"]["dropped"])
    number: float | None = record["diagnostics"][name] if name == "kept_fraction" else record[name]
    return _rounded(number, 4) if name == "seconds" and number else number


def _all_rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _all_rounded(item) for name, item in value.items()}
    if isinstance(value, list):
        return [_all_rounded(item) for item in value]
    return _rounded(value) if isinstance(value, float) else value


def _rounded(value: float, n_digits: int = 6) -> Any:
    """Return a number to so many digits; None for what JSON does not know."""
    return float(f"{value:.{n_digits}g}") if math.isfinite(value) else None
