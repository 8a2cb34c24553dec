"""Whether a claim holds: from the measured numbers of a document, or not yet measured."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from .rows import STAND_IN

__all__ = ["Claim", "Finding", "NotMeasuredError", "Numbers", "Seen", "said", "verdicts"]


class Numbers(NamedTuple):
    """Accuracy and attack success after the last round, means over the seeds.

    >>> print(Numbers(0.91234, 0.004))
    Acc .912 ASR .004
    """

    accuracy: float
    success: float

    def __str__(self) -> str:
        """Return both as a table has them."""
        accuracy, success = (f"{number:.3f}".removeprefix("0") for number in self)
        return f"Acc {accuracy} ASR {success}"


class Finding(NamedTuple):
    """Whether something holds, and the numbers that say so.

    >>> Finding(True, "ASR .004").holds
    True
    """

    holds: bool
    numbers: str


class NotMeasuredError(LookupError):
    """A claim asks for a cell that nothing was measured of.

    >>> Seen([])("table1", "Krum", "digits")
    Traceback (most recent call last):
    holdfast.paper.judging.NotMeasuredError: Krum on digits (table1)
    """


class Seen:
    """The measured numbers of a document's experiments, by experiment, row and task.

    >>> Seen([]).scale
    """

    def __init__(self, experiments: Iterable[Mapping[str, Any]]) -> None:
        """Look the cells up once."""
        self.experiments = list(experiments)
        self.cells = {
            (one["name"], cell["row"], cell["task"]): cell
            for one in self.experiments
            for cell in one["cells"]
            if cell["measured"] is not None and cell["measured"]["attack_success"] is not None
        }
        self.scale = next((cell["scale"] for one in self.experiments for cell in one["cells"]), None)

    def __call__(self, experiment: str, row: str, task: str) -> Numbers:
        """Return the numbers of a cell."""
        cell = self.cells.get((experiment, row, task))
        if cell is None:
            raise NotMeasuredError(f"{row} on {task} ({experiment})")
        measured = cell["measured"]
        return Numbers(measured["accuracy"]["mean"], measured["attack_success"]["mean"])

    def rows(self, experiment: str, rows: Iterable[str], task: str) -> dict[str, Numbers]:
        """Return the numbers of several rows, by row."""
        return {row: self(experiment, row, task) for row in rows}

    def has(self, experiment: str, row: str, task: str) -> bool:
        """Return whether there is such a cell."""
        return (experiment, row, task) in self.cells

    def findings(self, claim: str, task: str) -> list[Finding]:
        """Return what studies found that are no runs: `studies["findings"]` of their experiments."""
        return [
            Finding(bool(found["holds"]), str(found["numbers"]))
            for one in self.experiments
            for found in one["studies"].get("findings", ())
            if found["id"] == claim and found["task"] == task
        ]


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper that can be wrong, the tasks it is asked on, and how it is checked.

    `tasks` may join several by " + ", for a claim on their mean. Without a check, a study brings the finding.

    >>> Claim("claim-0", "Nothing is claimed.", "§0", ("digits",)).tasks
    ('digits',)
    """

    id: str
    text: str
    source: str
    tasks: tuple[str, ...]
    check: Callable[[Seen, str], Finding] | None = None


def said(numbers: Mapping[str, Any]) -> str:
    """Return the numbers of several rows as one line.

    >>> said({"FedAvg": Numbers(0.9, 0.8)})
    'FedAvg Acc .900 ASR .800'
    """
    return "; ".join(f"{name} {number}" for name, number in numbers.items())


def verdicts(claims: Iterable[Claim], experiments: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return for each claim and task whether it holds, as it goes into the document.

    >>> verdicts([Claim("claim-0", "Nothing is claimed.", "§0", ("digits",))], [])[0]["verdict"]
    'not measured'
    """
    seen = Seen(experiments)
    return [_verdict(claim, task, seen) for claim in claims for task in claim.tasks]


def _verdict(claim: Claim, task: str, seen: Seen) -> dict[str, Any]:
    stands_in_for = STAND_IN.get(task) if STAND_IN.get(task) in claim.tasks else None
    try:
        found = _found(claim, task, seen)
        verdict, numbers = "holds" if found.holds else "does not hold", found.numbers
    except NotMeasuredError as missing:
        verdict, numbers = "not measured", f"missing: {missing}"
    return {
        "id": claim.id,
        "text": claim.text,
        "verdict": verdict,
        "numbers": numbers,
        "scale": seen.scale,
        "task": task,
        "stands_in_for": stands_in_for,
        "source": claim.source,
    }


def _found(claim: Claim, task: str, seen: Seen) -> Finding:
    if claim.check is not None:
        return claim.check(seen, task)
    studied = seen.findings(claim.id, task)
    if not studied:
        raise NotMeasuredError(f"the study on {task}")
    return studied[0]
