"""What came out of a run, as it is stored: with all its records while it is loose, a summary once packed."""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from .. import __version__
from .._support.keys import key_of
from .._support.printable import printable
from ..errors import DataError
from ..lab.scenario import Run
from . import store
from .records import COLUMNS, OPTIONAL, Column, Summary, check_summary
from .verdicts import restored_verdicts

__all__ = ["Result", "find_result", "list_results", "pack_results"]


@dataclass(frozen=True)
class Result:
    """A run's result: what determines it, who made it, and what came out so far.

    >>> from holdfast.lab import TASKS
    >>> Result(Run(TASKS["phishing"]).description).task
    'phishing'
    """

    description: Mapping[str, Any]
    device: str = "cpu"
    version: str = __version__
    data: str | None = None  # the checksum of the examples; None before the first round
    finished: bool = False
    records: tuple[Mapping[str, Any], ...] = ()  # one per round, in full; none once it is packed
    packed: Summary | None = None

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

        def text(part: Any) -> str:
            if not isinstance(part, Mapping):
                return str(part)
            return ", ".join(f"{name}={value}" for name, value in part.items())

        return "; ".join(f"{name}: {text(part)}" for name, part in self.description.items())

    @cached_property
    def summary(self) -> Summary:
        """What is known of the run once its records are gone."""
        return self.packed or Summary.of(self.records)

    def series(self, name: str) -> Column:
        """Return one of COLUMNS or OPTIONAL: a number per round, None where there is none."""
        rounds = self.summary.rounds
        return [None] * self.n_done if name in OPTIONAL and name not in rounds else rounds[name]

    def last(self, name: str) -> float | None:
        """Return that number after the last round; None where there is none."""
        numbers = self.series(name)
        return numbers[-1] if numbers else None

    def mean(self, name: str) -> float | None:
        """Return its mean over the rounds that have it; None where none has."""
        numbers = [number for number in self.series(name) if number is not None]
        return sum(numbers) / len(numbers) if numbers else None

    def write(self, path: Path) -> None:
        """Write the result to a file of its own, with all its records."""
        own = {"device": self.device, "finished": self.finished, "records": list(self.records)}
        store.write_entry(path, self.description, data=self.data, **own)


def find_result(run: Run, folder: Path) -> tuple[Result | None, list[str]]:
    """Return what is stored of a run, finished or else in the making, and why other files are not used.

    >>> from holdfast.lab import TASKS
    >>> find_result(Run(TASKS["phishing"]), Path("nowhere"))
    (None, [])
    """
    return store.find(run.key, run.task.name, folder, result_of)


def list_results(folder: Path) -> tuple[list[Result], dict[str, str]]:
    """Return all results in a folder, finished or in the making, and [where] why something cannot be used.

    >>> list_results(Path("nowhere"))
    ([], {})
    """
    found, unusable = store.read_all(folder, result_of)
    return sorted(found, key=lambda one: (one.task, one.attack, one.defence, one.seed, one.key)), unusable


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
    summary = {name: kept for name, kept in asdict(result.summary).items() if kept is not None}
    return head | {"summary": summary}


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
        _check_head(result)
        check_summary(result.summary)
        for record in result.records:
            if "verdicts" in record:
                restored_verdicts(record["verdicts"])
        n_done = {len(result.series(name)) for name in (*COLUMNS, *OPTIONAL)}
        is_whole = n_done == {result.n_rounds} or (
            not result.finished and n_done <= {*range(result.n_rounds)}
        )
        in_order = all(record["round"] == number for number, record in enumerate(result.records, 1))
        names = result.task, result.attack, result.defence, result.seed
    except (LookupError, TypeError, ValueError, AttributeError, OverflowError) as error:
        why = printable(repr(error), limit=200)
        raise DataError(f"it is not the result of a run, or is damaged: {why}") from None
    if not is_whole or not in_order:
        said = printable(f"of the {result.n_rounds} rounds of {names} it has {sorted(n_done)}", limit=200)
        raise DataError(f"it is damaged: {said}")
    return result


def _check_head(result: Result) -> None:
    """Raise unless it is said as it should be who made a result, and which rule a defence has."""
    said = result.device, result.version, result.data or "", result.description["defence"]["aggregate"]
    if not all(isinstance(text, str) for text in said) or not isinstance(result.finished, bool):
        raise TypeError(f"{(*said, result.finished)}: these are not four texts and whether it is finished")
