"""Who may speak: the hearing before anything is applied, and who has no say after it."""

from collections.abc import Sequence
from math import ceil

import numpy as np
from numpy.typing import NDArray

from .._support.ids import Name
from .memory import ClientMemory

__all__ = ["N_BEFORE_LOOKING", "doubted_rows", "had_a_say", "rounds_left", "silenced_rows", "was_heard"]

#: The first rounds are listened to only: before, there is no memory to speak of.
N_BEFORE_LOOKING = 3
#: Whoever comes after the hearing has no say until it was heard so often.
N_BEFORE_SAY = 2


def was_heard(memory: ClientMemory, names: Sequence[Name], hearing: float) -> bool:
    """Return whether clients were heard often enough for anything to be applied.

    It ends, too, when those present were heard twice as often: whoever comes under a new name in every round
    lowers the mean of all, and must not keep the model from learning.
    """
    if hearing == 0 or memory.n_open:
        return True
    here = [memory.positions[name] for name in names]
    is_enough = memory.heard.mean() >= hearing or memory.heard[here].mean() >= 2 * hearing
    return memory.round >= N_BEFORE_LOOKING and bool(is_enough)


def rounds_left(memory: ClientMemory, names: Sequence[Name], hearing: float) -> int:
    """Return how many more rounds the hearing takes if nobody new comes, and as many as now take part."""
    n_missing = hearing * memory.n_clients - float(memory.heard.sum())
    return max(N_BEFORE_LOOKING - memory.round, ceil(n_missing / len(names)), 1)


def silenced_rows(
    memory: ClientMemory, names: Sequence[Name], hearing: float, *, voice: int | None
) -> dict[int, str]:
    """Find the rows that do not count in this round, and say why.

    Args:
        memory: With the verdicts of this round.
        names: The clients of this round, by row.
        hearing: How often clients are heard before anything is applied; 0: newcomers count at once.
        voice: The position of the client that participates for all who count as one.
    """
    silenced = {}
    for row, name in enumerate(names):
        position = memory.positions[name]
        since = memory.since[position]
        if since and memory.certain[position]:
            silenced[row] = f"expelled since round {since}"
        elif since and position != voice:
            silenced[row] = f"counts as one client with others of its faction since round {since}"
        elif hearing > 0 and memory.heard[position] < N_BEFORE_SAY:
            silenced[row] = "new: it has a say once it was heard before"
    return silenced


def doubted_rows(memory: ClientMemory, names: Sequence[Name], suspected: NDArray[np.bool_]) -> dict[int, str]:
    """Return the rows of those who are suspected, and why they have no say."""
    why = "suspected: it has no say under a wary watch"
    return {row: why for row, name in enumerate(names) if suspected[memory.positions[name]]}


def had_a_say(memory: ClientMemory, hearing: float) -> NDArray[np.bool_]:
    """Return which clients were heard so often before this round that what they sent may have counted."""
    earlier = memory.heard - (memory.last == memory.round)
    return np.asarray(earlier >= (N_BEFORE_SAY if hearing > 0 else 1))
