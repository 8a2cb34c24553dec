"""How long runs take: from rounds that were made, never from a guess."""

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from ..lab.scenario import Run

__all__ = ["Pace", "TimeLeft"]


@dataclass(frozen=True)
class TimeLeft:
    """Seconds for all rounds whose like was made before, and the tasks of which none was."""

    seconds: float
    unknown: tuple[str, ...] = ()

    def __str__(self) -> str:
        """Return it for people."""
        seconds = self.seconds
        known = f"{seconds / 60:.0f} min" if 60 <= seconds < 5400 else f"{seconds / 3600:.1f} h"
        known = f"{seconds:.0f} s" if seconds < 60 else known
        if not self.unknown:
            return f"about {known}"
        known = f"more than {known}" if seconds else "unknown"
        return f"{known}: no round of {', '.join(self.unknown)} made yet"


class Pace:
    """Seconds that a piece of work took, by the kind of run, or else by its task's data."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._spent: dict[Any, tuple[float, float]] = defaultdict(lambda: (0.0, 0.0))

    def add(self, run: Run, *, n_rounds: int, seconds: float) -> None:
        """Take note of rounds that were made."""
        for kind in _kinds(run):
            spent, work = self._spent[kind]
            self._spent[kind] = (spent + seconds, work + n_rounds * _work(run))

    def seconds_per_round(self, run: Run) -> float | None:
        """Return how long a round of such a run takes; None if no like of it was made."""
        for kind in _kinds(run):
            if kind in self._spent and self._spent[kind][1]:
                spent, work = self._spent[kind]
                return _work(run) * spent / work
        return None

    def time_left(self, runs: Mapping[str, Run], n_done: Mapping[str, int], *, n_workers: int) -> TimeLeft:
        """Return how long the runs, by key, still take on so many workers; each makes one at a time."""
        lengths, unknown = [0.0], {}
        for key, run in runs.items():
            n_left, pace = run.task.n_rounds - n_done.get(key, 0), self.seconds_per_round(run)
            if pace is None and n_left:
                unknown[run.task.name] = True
            lengths.append((pace or 0.0) * n_left)
        return TimeLeft(max(sum(lengths) / n_workers, *lengths), tuple(unknown))


def _kinds(run: Run) -> tuple[Any, Any]:
    """Return what has a pace of its own, and what is near it."""
    task = replace(run.task, n_rounds=1, n_per_round=1)
    return (task, run.defence.train), (task.name, task.data)


def _work(run: Run) -> float:
    """Return how much of the data a round goes through."""
    task = run.task
    return task.n_per_round * task.epochs / (1 if task.split.name == "everything" else task.n_clients)
