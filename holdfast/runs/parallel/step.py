"""What workers tell of a run, and what they are asked."""

from collections.abc import Sequence
from typing import NamedTuple, Protocol, Self

from ...lab.scenario import Run

__all__ = ["Step", "Worker", "named"]


class Step(NamedTuple):
    """News of a run: so many of its rounds are done; `error` says why it goes no further.

    >>> Step("ab12", 3, False).round
    3
    """

    key: str
    round: int
    finished: bool
    error: str | None = None


class Worker(Protocol):
    """Makes one run at a time."""

    def begin(self, run: Run) -> None:
        """Start a run."""

    def ready(self, busy: Sequence[Self]) -> list[Self]:
        """Wait for news of any of the busy workers, and return those that have some."""
        ...

    def news(self) -> Step:
        """Return the next news of the run."""
        ...

    def end(self) -> None:
        """Stop, at once."""


def named(run: Run) -> str:
    """Return a run as an error names it.

    >>> from holdfast.lab.choices import build_run
    >>> named(build_run("digits", attack="edge-case", defence="median"))
    "median under attack 'edge-case', seed 0"
    """
    return f"{run.defence.name} under attack {run.attack.name!r}, seed {run.seed}"
