"""What is remembered of each client: how it deviated from the others, on average, on a secret sample.

The memory of a client is a row of numbers and a few counts. Rows are whole numbers of 16 bits: their products
add up exactly, so that neither the number of threads nor the library that multiplies changes a bit.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from .._support.ids import Name, ids_as_bytes, ids_in
from .._support.threads import in_parts
from ..kernels.deviations import Deviations
from ..updates.rows import rows_of

__all__ = ["N_HEARD", "ClientMemory", "with_round"]

Array = NDArray[Any]

#: Deviations, in units of a coordinate's usual one, are cut off here.
CUT = 3.0
#: No row is longer than so many times the median row of its round.
LONGEST = 1.3
#: For lengths of whole updates, which no number may overflow.
HARDLY_CUT = 1e6
#: No update counts as longer than so many median ones in the mean of a client's lengths.
MOST_LENGTHS = 100.0
#: A mean over about the last so many participations: a client that changes is seen to.
N_REMEMBERED = 10
#: What 1.0 is as a whole number of 16 bits. No entry of a row is larger than 3.
ONE = 8_192
#: Values are cut off here, so that no difference of two overflows.
FARTHEST = np.finfo(np.float32).max / 4
#: Of fewer values it takes longer to hand them to threads than to work on them.
MANY_VALUES = 1 << 21
#: In a round of fewer clients there is no crowd to deviate from.
N_HEARD = 4


@dataclass(frozen=True, eq=False)
class ClientMemory:
    """All that a watch remembers. Everything but `clients` is an array or a number, with one row per client.

    >>> ClientMemory().n_clients
    0
    """

    clients: tuple[Name, ...] = ()
    # [client] a row of int16. Memories share the rows of clients that were not heard in between.
    rows: NDArray[np.object_] = field(default_factory=lambda: np.empty(0, object))
    heard: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))  # participations
    last: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))  # round of the last one
    looks: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))  # searches it was in
    evidence: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))  # that it is in a faction
    faction: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))  # 0: in none
    since: NDArray[np.int32] = field(default_factory=lambda: np.zeros(0, np.int32))  # named; 0: is not
    certain: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, bool))  # it deviates by itself
    squares: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))  # mean squared length of rounds
    length: NDArray[np.float64] = field(default_factory=lambda: np.zeros(0))  # mean, in median lengths
    round: int = 0
    n_open: int = 0  # rounds since the hearing
    n_applied: int = 0  # rounds in which anything was applied, since the start or the last rewind
    n_rewinds: int = 0
    seed: int = -1  # of the secret sample; -1: not drawn yet

    @property
    def n_clients(self) -> int:
        """How many clients were heard so far."""
        return len(self.clients)

    @property
    def n_watched(self) -> int:
        """How many coordinates of every client are remembered."""
        return len(self.rows[0]) if self.n_clients else 0

    @cached_property
    def positions(self) -> dict[Name, int]:
        """Where each client is."""
        return {client: position for position, client in enumerate(self.clients)}

    @property
    def named(self) -> NDArray[np.bool_]:
        """The members of factions: each is expelled or counts as one with others."""
        return self.since > 0

    @property
    def expelled(self) -> NDArray[np.bool_]:
        """The members of factions that certainly deviate by themselves."""
        return self.named & self.certain

    @property
    def counts_as_one(self) -> NDArray[np.bool_]:
        """The members of factions that others may only be copying."""
        return self.named & ~self.certain

    def as_arrays(self) -> dict[str, Array]:
        """Return all of it as named arrays, which can be stored."""
        counts = np.array([getattr(self, name) for name in COUNTS], np.int64)
        rows = np.stack(self.rows.tolist()) if self.n_clients else np.zeros((0, 0), np.int16)
        rest = {name: getattr(self, name) for name in PER_CLIENT}
        return {"clients": ids_as_bytes(self.clients), "counts": counts, "rows": rows, **rest}

    @classmethod
    def from_arrays(cls, arrays: Mapping[str, Array]) -> "ClientMemory":
        """Return the memory that `as_arrays` took apart; a ValueError if it is not one.

        >>> memory = with_round(ClientMemory(), np.eye(5, dtype=np.float32), [*range(4), "eve"])
        >>> ClientMemory.from_arrays(memory.as_arrays()).clients
        (0, 1, 2, 3, 'eve')
        """
        arrays = _of_version_1(arrays) if "views" in arrays else arrays
        for name, like in cls().as_arrays().items():
            if name not in arrays:
                raise ValueError(f"this is no memory of clients: it has no {name}")
            if arrays[name].dtype != like.dtype or arrays[name].ndim != like.ndim:
                raise ValueError(f"this is no memory of clients: {name} has another form")
        try:
            names = ids_in(arrays["clients"])
        except ValueError as error:
            raise ValueError(f"this is no memory of clients: {error}") from None
        lengths = {len(names), len(set(names)), *(len(arrays[name]) for name in ("rows", *PER_CLIENT))}
        if len(lengths) > 1 or len(arrays["counts"]) != len(COUNTS):
            raise ValueError("this is no memory of clients: its parts do not fit")
        are_finite = all(np.isfinite(arrays[name]).all() for name in ("evidence", "squares", "length"))
        if (arrays["heard"] < 0).any() or not are_finite:
            raise ValueError("this is no memory of clients: it holds impossible numbers")
        counts = dict(zip(COUNTS, arrays["counts"].tolist(), strict=True))
        rows = np.empty(len(names), object)
        for position, row in enumerate(arrays["rows"]):
            rows[position] = row.copy()  # so that each can be forgotten by itself
        rest: dict[str, Any] = {name: arrays[name] for name in PER_CLIENT}
        return cls(names, rows, **rest, **counts)

    def with_clients(self, clients: Sequence[Name], dim: int) -> "ClientMemory":
        """Return the same with empty rows for those of the clients that are new."""
        new = [client for client in dict.fromkeys(clients) if client not in self.positions]
        if not new:
            return self
        n_new = len(new)

        def longer(values: Any) -> Any:
            return np.concatenate([values, np.zeros(n_new, values.dtype)])

        rows = np.empty(n_new, object)
        rows.fill(np.zeros(dim, np.int16))
        return replace(
            self,
            clients=(*self.clients, *new),
            rows=np.concatenate([self.rows, rows]),
            **{name: longer(getattr(self, name)) for name in PER_CLIENT},
        )

    def limited(self, most: int, present: Sequence[Name]) -> "ClientMemory":
        """Return the same with at most so many clients: those first forgotten that were not heard longest.

        Clients that are `present` stay.
        """
        if self.n_clients <= most:
            return self
        here = set(present)
        last = np.array(
            [self.round if c in here else t for c, t in zip(self.clients, self.last, strict=True)]
        )
        stay = np.sort(np.argsort(-last, kind="stable")[: max(most, len(here))])
        kept = {name: getattr(self, name)[stay] for name in PER_CLIENT}
        names = tuple(self.clients[position] for position in stay)
        return replace(self, clients=names, rows=self.rows[stay], **kept)


#: What has one entry per client, and what is one number.
COUNTS = ("round", "n_open", "n_applied", "n_rewinds", "seed")
PER_CLIENT = ("heard", "last", "looks", "evidence", "faction", "since", "certain", "squares", "length")


def _of_version_1(arrays: Mapping[str, Array]) -> Mapping[str, Array]:
    """Convert a memory of version 0.3, which had two views of a client; whom it expelled stays expelled."""
    if arrays["views"].ndim != 3 or len(arrays["views"]) != 2 or "since" not in arrays:
        return arrays  # and be refused
    rows = arrays["views"][1]
    squares = (rows.astype(np.float64) ** 2).sum(axis=1)
    new = {"rows": rows, "certain": arrays["since"] > 0, "squares": squares, "length": np.ones(len(rows))}
    return {**arrays, **new}


def with_round(memory: ClientMemory, values: Array, clients: Sequence[Name]) -> ClientMemory:
    """Return the memory after a round in which these clients sent these values; it counts the round.

    The deviation of a client is measured from the trimmed mean of those who are in no faction, in units of a
    coordinate's median deviation.

    >>> sent = np.array([[1.0, 0], [0, 1], [-1, 0], [0, -1], [0, 0]], dtype=np.float32)
    >>> with_round(ClientMemory(), sent, list("abcde")).rows[0]
    array([8192,    0], dtype=int16)
    """
    memory = replace(memory.with_clients(clients, values.shape[1]), round=memory.round + 1)
    where = np.array([memory.positions[client] for client in clients], dtype=np.intp)
    crowd = ~memory.named[where]
    if crowd.sum() < N_HEARD:
        return memory
    heard, last = memory.heard.copy(), memory.last.copy()
    heard[where] += 1
    last[where] = memory.round
    paces = 1.0 / np.minimum(heard[where], N_REMEMBERED)
    deviations = _deviations(_bounded(values), crowd)
    lengths, whole = deviations.lengths(cuts=(CUT, HARDLY_CUT))
    rows, squares, length = memory.rows.copy(), memory.squares.copy(), memory.length.copy()
    median = float(np.median(whole[crowd]))
    relative = np.minimum(whole, MOST_LENGTHS * median) / median if median > 0 else np.ones(len(whole))
    length[where] += paces * (relative - length[where])

    longest = LONGEST * float(np.median(lengths[crowd]))
    squares[where] += paces * ((ONE * np.minimum(lengths, longest)) ** 2 - squares[where])
    factors = ONE * np.minimum(1.0, longest / np.maximum(lengths, 1e-300))
    blended = deviations.blended([*rows[where]], cut=CUT, factors=factors, paces=paces)
    for position, row in zip(where, blended, strict=True):
        rows[position] = row
    return replace(memory, rows=rows, squares=squares, length=length, heard=heard, last=last)


def _bounded(values: Array) -> NDArray[np.float32]:
    """Return the values as float32, cut off; the same array if there is nothing to do."""
    if values.dtype == np.float32 and values.min() >= -FARTHEST and values.max() <= FARTHEST:
        return values
    return np.asarray(np.clip(values, -FARTHEST, FARTHEST).astype(np.float32))


def _deviations(values: NDArray[np.float32], crowd: NDArray[np.bool_]) -> Deviations:
    """Return how far values lie from the crowd's trimmed mean, in units of the usual distance."""
    n, dim = int(crowd.sum()), values.shape[1]
    told = rows_of(values).select(np.flatnonzero(crowd))
    middle, usual = np.empty(dim, np.float32), np.empty(dim)

    def measure(part: slice) -> None:
        here = told.columns(part.start, part.stop)
        middle[part] = kernels.trimmed_mean(here, n_trimmed=n // 4).update
        around = replace(here, base=(middle[part],))
        usual[part] = kernels.trimmed_mean_magnitude(around, n_trimmed=(n - 1) // 2).update

    # A coordinate does not know of the others. Of few values, threads would wait for each other.
    if values.size < MANY_VALUES:
        measure(slice(0, dim))
    else:
        in_parts(measure, dim)
    moving = usual[usual > 0]
    floor = 0.1 * float(np.median(moving)) if len(moving) else 1.0
    return Deviations(values, middle, np.maximum(1.5 * usual, floor))
