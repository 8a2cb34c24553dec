"""Nodes that return under the ids by which they are remembered, and nodes that come under new ones."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

from .._support.counting import counted

__all__ = ["Returning"]


@dataclass(frozen=True)
class Returning:
    """The nodes that are connected at the start of a training, and those remembered from before, by id.

    >>> str(Returning.of([7, 8, 9], remembered=[1, 2, 3]))[:65]
    'none of the 3 nodes of this run is among the 3 known from before:'
    """

    n_connected: int
    n_remembered: int
    n_known: int
    missing: frozenset[Any]

    @classmethod
    def of(cls, connected: Iterable[Any], *, remembered: Iterable[Any]) -> "Returning":
        """Compare the ids of connected nodes with those remembered."""
        now, before = frozenset(connected), frozenset(remembered)
        return cls(len(now), len(before), len(now & before), before - now)

    @property
    def has_new_ids(self) -> bool:
        """Whether fewer than half of those that could have returned did.

        Where few take part in each round, or few are connected yet, not every node is known, nor every known
        node there.
        """
        return 2 * self.n_known < min(self.n_connected, self.n_remembered)

    def __str__(self) -> str:
        """Return what follows from it for an operator."""
        known, whom = (f"only {self.n_known}", "the others") if self.n_known else ("none", "them")
        nodes, verb = counted(self.n_connected, "node"), "are" if self.n_known > 1 else "is"
        return (
            f"{known} of the {nodes} of this run {verb} among the {self.n_remembered} known from before:"
            f" bans, pardons, expulsions and the watch's memory go by id, and do not apply to {whom}. The"
            " simulation engine gives nodes new ids in every run; real nodes keep theirs with SuperNode"
            " authentication"
        )
