"""What a tracker is to a run."""

from collections.abc import Mapping
from typing import Protocol

from ..results import Result

__all__ = ["FACTS", "Tracker", "run_title"]

#: What is sent of a result beside its numbers.
FACTS = ("task", "attack", "defence", "seed", "n_rounds", "device", "version", "key")


class Tracker(Protocol):
    """What is called at the start of a run, after each round, and at its end."""

    title: str
    where: str | None  # where the run can be seen, once it has begun: an address, or what to do

    def begin(self, result: Result) -> None:
        """Take what determines the run."""

    def log(self, number: int, numbers: Mapping[str, float]) -> None:
        """Take the numbers of a round."""

    def note(self, number: int, text: str) -> None:
        """Take what a round has to say in words."""

    def end(self, *, finished: bool) -> None:
        """Close what was opened."""


def run_title(result: Result) -> str:
    """Return what a run is called among others."""
    return f"{result.task} {result.attack} {result.defence} seed {result.seed}"
