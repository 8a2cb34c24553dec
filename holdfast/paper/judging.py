"""Whether a claim holds: read from the measured numbers of a document."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from .._support.lookup import nearest
from ..errors import InputError
from .experiment import LAST, Document
from .table import STAND_IN, Table

__all__ = ["ENOUGH", "OURS", "SWINGING", "Claim", "Rates", "cells_of", "in_words", "judge", "rates_of"]

#: Which cells a claim is about: experiment and row, by the name that the claim has for them.
Cells = Mapping[str, tuple[str, str]]

#: How the source of a claim begins that the paper does not make: we read it off the numbers that it prints.
OURS = "our check of "
#: With fewer seeds than this, a verdict is preliminary.
ENOUGH = 3
#: Experiments in which the attack success swings so much from round to round that the last ten are averaged.
SWINGING = ("paper_network", "paper_released", "paper_network_warm")


class Rates(NamedTuple):
    """Accuracy and attack success rate, means over the seeds."""

    accuracy: float
    success: float

    def __str__(self) -> str:
        """Return both in percent: Acc 91.2%, ASR 0.4%."""
        return f"Acc {self.accuracy:.1%}, ASR {self.success:.1%}"


def in_words(found: Mapping[str, Rates]) -> str:
    """Return the rates of several rows as one line."""
    return "; ".join(f"{name} {rates}" for name, rates in found.items())


@dataclass(frozen=True)
class Claim:
    """A sentence that can be wrong, where the paper has it, and how it is checked on which tasks.

    `tasks` may join several by " + ". `cells` are those of every task but those in `elsewhere`, whose numbers
    are in other experiments. `holds` and `numbers` get the rates of the cells by name, one mapping per joined
    task. Without `holds`, a study brings the finding.
    """

    id: str
    text: str
    source: str
    tasks: tuple[str, ...]
    cells: Cells = field(default_factory=dict)
    holds: Callable[..., bool] | None = None
    numbers: Callable[..., str] = in_words
    elsewhere: Mapping[str, Cells] = field(default_factory=dict)

    @property
    def is_ours(self) -> bool:
        """Whether the paper does not state it: we read it off its numbers."""
        return self.source.startswith(OURS)

    def cells_on(self, task: str) -> Cells:
        """Return the cells that decide it on a task."""
        return self.elsewhere.get(task, self.cells)


def cells_of(experiment: str, *rows: str) -> dict[str, tuple[str, str]]:
    """Return these rows of an experiment as the cells of a claim."""
    return {row: (experiment, row) for row in rows}


def judge(
    claims: Sequence[Claim], tables: Mapping[str, Table], experiments: Iterable[Mapping[str, Any]]
) -> list[Document]:
    """Return each claim on each of its tasks with a verdict, as it goes into the document.

    The verdict is "holds", "does not hold", "preliminary" where a cell has fewer seeds than were asked for or
    than three, or "not measured". A claim about a cell that no table has raises, whether anything is measured
    or not.
    """
    experiments = list(experiments)
    for claim in claims:
        _check(claim, tables)
    cells = {(one["name"], cell["row"], cell["task"]): cell for one in experiments for cell in one["cells"]}
    findings = {
        (found["id"], found["task"]): found
        for one in experiments
        for found in one["studies"].get("findings", ())
    }
    if unknown := {name for name, _ in findings} - {claim.id for claim in claims}:
        raise InputError(f"studies have findings on claims that do not exist: {', '.join(sorted(unknown))}")
    scale = next((cell["scale"] for cell in cells.values()), None)
    return [
        {
            "id": claim.id,
            "text": claim.text,
            **(_studied(claim, task, findings) if claim.holds is None else _measured(claim, task, cells)),
            "scale": scale,
            "task": task,
            "stands_in_for": STAND_IN.get(task) if STAND_IN.get(task) in claim.tasks else None,
            "source": claim.source,
            "is_ours": claim.is_ours,
        }
        for claim in claims
        for task in claim.tasks
    ]


def _check(claim: Claim, tables: Mapping[str, Table]) -> None:
    for task in (part for joined in claim.tasks for part in joined.split(" + ")):
        for experiment, row in claim.cells_on(task).values():
            if experiment not in tables:
                raise InputError(f"claim {claim.id} names {experiment!r}, which is no experiment")
            if not tables[experiment].has(row, task):
                hint = nearest(row, [one.label for one in tables[experiment].rows])
                raise InputError(
                    f"claim {claim.id} names {row!r}, which is not in {experiment} on {task}; {hint}"
                )


def _studied(claim: Claim, task: str, findings: Mapping[tuple[str, str], Document]) -> Document:
    if (claim.id, task) not in findings:
        return {"verdict": "not measured", "numbers": f"missing: the study on {task}"}
    found = findings[claim.id, task]
    return _weighed(found["holds"], found["numbers"], found.get("n_seeds", ENOUGH), ENOUGH)


def _measured(claim: Claim, task: str, cells: Mapping[tuple[str, str, str], Document]) -> Document:
    places = [
        {name: (experiment, row, own) for name, (experiment, row) in claim.cells_on(own).items()}
        for own in task.split(" + ")
    ]
    used = [place for one in places for place in one.values()]
    for place in used:
        measured = cells[place]["measured"] if place in cells else None
        if measured is None or measured["attack_success"] is None:
            return {"verdict": "not measured", "numbers": "missing: {1} on {2} ({0})".format(*place)}
    rates = [
        {
            name: Rates(*(rate["mean"] for rate in rates_of(place[0], cells[place])))
            for name, place in one.items()
        }
        for one in places
    ]
    assert claim.holds is not None
    n_seeds, n_wanted = min(
        ((cells[place]["n_seeds"], max(ENOUGH, cells[place]["n_wanted"])) for place in used),
        key=lambda pair: pair[0] - pair[1],
    )
    return _weighed(claim.holds(*rates), claim.numbers(*rates), n_seeds, n_wanted)


def rates_of(experiment: str, cell: Mapping[str, Any]) -> tuple[Document, Document]:
    """Return the accuracy and the attack success that a claim is judged by, each with its spread."""
    prefix = f"last{LAST}_" if experiment in SWINGING else ""
    measured = cell["measured"]
    return measured[f"{prefix}accuracy"], measured[f"{prefix}attack_success"]


def _weighed(holds: bool, numbers: str, n_seeds: int, n_wanted: int) -> Document:
    """Return the verdict with its numbers; a preliminary one where there are too few seeds."""
    verdict = "holds" if holds else "does not hold"
    if n_seeds < n_wanted:
        return {
            "verdict": "preliminary",
            "numbers": f"{verdict} with {n_seeds} of {n_wanted} seeds: {numbers}",
        }
    return {"verdict": verdict, "numbers": numbers}
