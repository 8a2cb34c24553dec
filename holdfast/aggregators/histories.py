"""What rules share that remember every client: who is remembered, and what may come back as their state."""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.ids import Name, ids_in, named
from ..errors import InputError
from ..updates.layout import all_finite

__all__ = ["Roster", "Seen", "check_rows", "in_bytes", "present_ids", "roster_in"]

Array = NDArray[Any]

UNITS = ("B", "kB", "MB", "GB", "TB")


class Seen(NamedTuple):
    """A roster after a round: those who stayed, by their places in the old one, then the newcomers."""

    roster: "Roster"
    stayed: NDArray[np.intp]
    places: NDArray[np.intp]  # [row of the round] in the new roster
    forgotten: NDArray[np.intp]  # by their places in the old one

    def grown(self, rows: Array) -> Array:
        """Return one row per client of the new roster: a copy of its own, zeros for a newcomer."""
        new = np.zeros((len(self.roster.clients), *rows.shape[1:]), rows.dtype)
        new[: len(self.stayed)] = rows[self.stayed]
        return new


@dataclass(frozen=True, eq=False)
class Roster:
    """Who is remembered, and the round in which each was last seen.

    >>> first = Roster().after(("ann", "bob"), most=3)
    >>> first.roster.after(("eve", "ann", "dan"), most=3).roster.clients
    ('ann', 'eve', 'dan')
    """

    clients: tuple[Name, ...] = ()
    last: NDArray[np.int64] = field(default_factory=lambda: np.zeros(0, np.int64))
    round: int = 0

    def after(self, present: Sequence[Name], *, most: int) -> Seen:
        """Return the roster after one more round; of more than `most` clients, the stalest are forgotten.

        Clients who are present are never forgotten.
        """
        number, here = self.round + 1, set(present)
        known = {client: place for place, client in enumerate(self.clients)}
        newcomers = [client for client in present if client not in known]
        is_here = np.array([client in here for client in self.clients], dtype=np.bool_)
        absent = np.flatnonzero(~is_here)
        n_excess = max(0, len(self.clients) + len(newcomers) - most)
        forgotten = absent[np.argsort(self.last[absent], kind="stable")[:n_excess]]
        stayed = np.setdiff1d(np.arange(len(self.clients)), forgotten)
        clients = (*(self.clients[place] for place in stayed), *newcomers)
        last = np.concatenate([self.last[stayed], np.zeros(len(newcomers), np.int64)])
        where = {client: place for place, client in enumerate(clients)}
        places = np.array([where[client] for client in present], dtype=np.intp)
        last[places] = number
        return Seen(Roster(clients, last, number), stayed, places, forgotten)


def present_ids(rule: str, clients: Any, n_clients: int, *, is_first: bool) -> tuple[Name, ...]:
    """Return the ids of a round's clients; in a first round without any, their positions."""
    if clients is None and is_first:
        return tuple(range(n_clients))
    if clients is None:
        raise InputError(f"{rule} remembers clients by their ids, not by position: pass clients= each round")
    names = tuple(named(client) for client in clients)
    if len(names) != n_clients or len(set(names)) != n_clients:
        raise InputError(
            f"clients must hold {n_clients} different ids, one per row; got {len(names)},"
            f" {len(set(names))} of them different"
        )
    return names


def roster_in(rule: str, state: Any, kind: type) -> Roster:
    """Return the roster in a rule's state, a dataclass of this kind; an InputError if it is no such thing."""
    if not isinstance(state, kind):
        raise InputError(f"state must be what {rule} returned last round; got {type(state).__name__}")
    kept: Any = state
    try:
        names, last = ids_in(kept.clients), np.asarray(kept.last, np.int64)
    except ValueError as error:
        raise InputError(f"state is not one of {rule}: {error}") from None
    if last.shape != (len(names),) or len(set(names)) != len(names) or (last < 0).any():
        raise InputError(f"state is not one of {rule}: its parts do not fit")
    return Roster(names, last, int(kept.round))


def check_rows(rule: str, rows: Array, shape: tuple[int, int]) -> None:
    """Raise unless what a state holds of the clients is one finite row each, as long as those of today."""
    if rows.ndim != 2 or rows.shape[1] != shape[1]:
        raise InputError(
            f"state is of a model with {rows.shape[-1]} numbers that {rule} remembers; here are {shape[1]}"
        )
    if len(rows) != shape[0]:
        raise InputError(f"state is not one of {rule}: its parts do not fit")
    if not all_finite(rows):
        raise InputError("state holds NaN or infinite values; start again with state=None")


def in_bytes(n_bytes: float) -> str:
    """Return a size as people write it.

    >>> in_bytes(4_700_000_000), in_bytes(12)
    ('4.7 GB', '12 B')
    """
    power = 0 if n_bytes < 1 else min(int(math.log10(n_bytes) / 3 + 1e-9), len(UNITS) - 1)
    return f"{n_bytes / 1000**power:.3g} {UNITS[power]}"
