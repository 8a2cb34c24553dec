"""factions: memory of who persistently votes with whom, and what follows from it."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.counting import check_whole
from .._support.ids import Name, named
from ..core import Watch, bind
from ..errors import InputError
from ..updates.rows import rows_of
from ..updates.samples import sample_of
from .crowds import Known, factions_in, map_of, shared_part
from .evidence import chance_of_false_alarm, evidence_needed, in_common_units
from .hearing import N_BEFORE_LOOKING, doubted_rows, had_a_say, rounds_left, silenced_rows, was_heard
from .imitation import voice_of_group, with_certainty
from .memory import N_REMEMBERED, ClientMemory, with_round
from .verdicts import N_SEARCHED, Standing, Verdict, Verdicts

__all__ = ["Watched", "factions", "watch"]

#: Evidence is a mean over the looks, of which the last counts this much.
PACE = 0.3
#: Below this part of the evidence needed, an expelled client is let in again.
FADED = 0.5
#: From this part on a client is suspected, by mode.
SUSPECTED = {"expel": 0.5, "wary": 0.2, "report": 0.5}
#: So many clients must be expelled at once for a rewind, of which there are at most so many.
N_TO_REWIND, N_REWINDS = 3, 2
#: Who was not heard while others were so often, on average, is remembered and not searched: whoever leaves
#: an id behind with every expulsion would fill the memory otherwise, until half of all are expelled.
ABSENT = 4.0
#: Who was not heard since it was named leaves the search sooner, by this factor: it probably changed its id.
SOONER = 0.25


@dataclass(frozen=True, eq=False)
class Watched:
    """What a watch decides about a round: who may not speak and why, and whether anything is applied."""

    state: ClientMemory
    verdicts: Verdicts
    silenced: Mapping[int, str] = field(default_factory=dict)  # [row] the reason
    n_expelled: int = 0  # attackers of this round that certainly do not count
    n_suspected: int = 0  # clients of this round that count, and may be attackers
    holds: bool = False  # nothing is applied in this round
    n_left: int | None = None  # of such rounds, about, if that can be told
    rewinds: bool = False  # the model goes back to its start
    may_rewind: bool = False  # the model at the start has to be kept
    is_blind: bool = False  # it looks for nobody any more: too few clients still take part


def watch(function: Any) -> Watch:
    """Make a watch of a function of the clients' updates that returns a Watched. See `factions`."""
    made = bind(function, "watch")
    assert isinstance(made, Watch)
    return made


@watch
def factions(
    updates: Any,
    *,
    mode: Literal["expel", "wary", "report"] = "expel",
    false_alarms: float = 0.01,
    hearing: float = 2.0,
    rewind: int = 10,
    sample: int = 16_384,
    most_clients: int = 10_000,
    clients: Sequence[Any],
    state: ClientMemory | None = None,
    pardoned: Collection[Any] = (),
    rng: np.random.Generator | None = None,
) -> Watched:
    """Find clients that persistently push together, and decide whose updates count in this round.

    Attackers push together in the same direction whenever they participate; honest clients differ from each
    other in their own ways. The memory holds each client's mean deviation on a secret sample of coordinates.
    A client is named when the evidence that it belongs to a faction is stronger than honest clients show in a
    share `false_alarms` of all trainings, and readmitted when the evidence fades. A named client that
    certainly deviates by itself is expelled; all others count as one client, because they may only be copied.
    Never more than half of the active clients are named.

    In the listening phase nothing is applied, until clients participated `hearing` times on average, or those
    present twice as often; a client that comes later does not count the first time. If three or more clients
    are named at once within `rewind` rounds after the listening phase, and the updates of some had counted,
    the model is reset to its start, because nobody undoes what they planted.

    Args:
        updates: One row per client.
        mode: "expel" acts; "wary" suspects earlier and ignores suspects, too; "report" names the same clients
            as "expel", as suspected, and changes nothing.
        false_alarms: The share of trainings of honest clients in which anybody may be named.
        hearing: How often clients participate on average before anything is applied; 0: no listening phase.
        rewind: In how many rounds after the listening phase the model may be reset; 0: never.
        sample: How many coordinates of each client are remembered.
        most_clients: How many clients are remembered; those who were absent longest are forgotten first.
        clients: The clients' ids, by row; the same in all rounds.
        state: The memory after the last round.
        pardoned: Clients that the operator exempts: their updates always count.
        rng: Draws the secret sample, in the first round.

    Returns:
        A `Watched`: the memory, the verdicts, and the rows that do not count.

    >>> rng = np.random.default_rng(0)
    >>> own, plot, state = rng.normal(size=(30, 500)), rng.normal(size=500), None
    >>> for _ in range(4):
    ...     sent = own + rng.normal(size=own.shape)
    ...     sent[:5] += plot
    ...     watched = factions(sent, clients=range(30), state=state, rng=rng)
    ...     state = watched.state
    >>> watched.verdicts.of("expelled")
    (0, 1, 2, 3, 4)
    """
    _check(hearing, rewind, sample, most_clients)
    names, exempt = [*map(named, clients)], frozenset(map(named, pardoned))
    needed, acts = evidence_needed(false_alarms), mode != "report"

    memory = _remembered(updates, names, state or ClientMemory(), sample, rng).limited(most_clients, names)
    active = _active(memory, len(names))
    memory, search = _searched(memory, names, active)
    memory = with_certainty(_judged(memory, needed, active), active)

    listens = acts and not was_heard(memory, names, hearing)
    may_reset = acts and not listens and memory.n_open < rewind and memory.n_rewinds < N_REWINDS
    resets = may_reset and _has_planted(memory, hearing, exempt)
    memory = _counted(memory, listens=listens, resets=resets)
    suspected = _suspected(memory, SUSPECTED[mode] * needed, active)
    voice = voice_of_group(memory, active, exempt=exempt)
    silenced = silenced_rows(memory, names, hearing, voice=voice) if acts else {}
    if mode == "wary":
        silenced = doubted_rows(memory, names, suspected) | silenced
    silenced = {row: why for row, why in silenced.items() if names[row] not in exempt}
    verdicts = tuple(_verdicts(memory, suspected, search.known, expels=acts))
    n_expelled, n_suspected = _attackers_here(memory, names, silenced, suspected) if acts else (0, 0)
    return Watched(
        memory,
        Verdicts(memory.round, verdicts, hearing=listens, rewound=resets, shared=round(search.shared, 4)),
        silenced,
        n_expelled=n_expelled,
        n_suspected=n_suspected,
        holds=listens,
        n_left=rounds_left(memory, names, hearing) if listens else None,
        rewinds=resets,
        may_rewind=may_reset,
        is_blind=not search.is_done and memory.round >= N_BEFORE_LOOKING and memory.n_clients >= N_SEARCHED,
    )


def _remembered(
    updates: Any, names: Sequence[Name], memory: ClientMemory, sample: int, rng: np.random.Generator | None
) -> ClientMemory:
    """Add a round to the memory, on the secret sample, which is drawn in the first one."""
    rows = rows_of(updates)
    if memory.seed < 0:
        fresh = np.random.default_rng() if rng is None else rng
        memory = replace(memory, seed=int(fresh.integers(2**31)))
    values = rows.at(sample_of(rows.dim, size=sample, seed=memory.seed))
    if memory.n_clients and memory.n_watched != values.shape[1]:
        raise InputError(
            f"this state remembers {memory.n_watched} coordinates of every client, and here are"
            f" {values.shape[1]}: it belongs to another model or sample; start with state=None"
        )
    rows.refuse(np.asarray(~np.isfinite(values).all(axis=1)))
    return with_round(memory, values, names)


def _has_planted(memory: ClientMemory, hearing: float, exempt: Collection[Name]) -> bool:
    """Tell whether enough clients are named at once, some of whose updates were applied before."""
    new = [i for i in np.flatnonzero(memory.since == memory.round) if memory.clients[i] not in exempt]
    was_applied = memory.n_applied > 0 and bool(had_a_say(memory, hearing)[new].any())
    return was_applied and len(new) >= N_TO_REWIND


def _counted(memory: ClientMemory, *, listens: bool, resets: bool) -> ClientMemory:
    """Count this round among those after the listening phase, and those that were applied."""
    return replace(
        memory,
        n_open=memory.n_open + (not listens),
        n_applied=0 if resets else memory.n_applied + (not listens),
        n_rewinds=memory.n_rewinds + resets,
    )


def _attackers_here(
    memory: ClientMemory, names: Sequence[Name], silenced: Mapping[int, str], suspected: NDArray[np.bool_]
) -> tuple[int, int]:
    """Count the clients of this round that are expelled, and those who still count and may be attackers.

    Of those who count as one, one may be honest: the others are as good as expelled.
    """
    is_silent = np.isin(np.arange(len(names)), [*silenced])
    here = np.array([memory.positions[name] for name in names], np.intp)
    n_alike = int((is_silent & memory.counts_as_one[here]).sum())
    n_expelled = int((is_silent & memory.expelled[here]).sum()) + max(0, n_alike - 1)
    may_attack = suspected | memory.named
    return n_expelled, int((~is_silent & may_attack[here]).sum())


def _check(hearing: Any, rewind: Any, sample: Any, most_clients: Any) -> None:
    if not hearing >= 0:
        raise InputError(
            f"hearing, how often clients are heard on average, must be at least 0; got {hearing!r}"
        )
    check_whole("rewind, in rounds,", rewind, at_least=0)
    check_whole("sample", sample, at_least=1)
    check_whole("most_clients", most_clients, at_least=N_SEARCHED)


def _active(memory: ClientMemory, n_present: int) -> NDArray[np.intp]:
    """Find who still participates, by position: whoever was heard while others were, a few times each."""
    active = memory.heard > 0
    is_gone = memory.named & (memory.last <= memory.since)  # not heard since it was named
    patience = np.where(is_gone, SOONER, 1.0)
    while True:
        window = ABSENT * active.sum() / max(1, n_present)  # rounds in which all are heard so often
        still = active & (memory.last > memory.round - np.maximum(window * patience, 1))
        if (still == active).all():
            return np.flatnonzero(active)
        active = still


class _Search(NamedTuple):
    """The outcome of a search for factions."""

    shared: float = 0.0  # how much clients have in common
    known: Known | None = None  # of the rows of all clients
    is_done: bool = False  # there were enough rounds and clients


def _searched(
    memory: ClientMemory, present: Sequence[Name], active: NDArray[np.intp]
) -> tuple[ClientMemory, _Search]:
    """Search the memory for factions, and add what is found to the evidence.

    More than half of those present are no faction, even if they are few of all clients so far: else attackers
    who make up identities could turn the watch against everybody else.
    """
    here = [memory.positions[name] for name in present]
    if memory.round < N_BEFORE_LOOKING or len(active) < N_SEARCHED:
        return memory, _Search()
    rows = memory.rows[active]
    weights = np.minimum(memory.heard[active], N_REMEMBERED).astype(np.float64)
    known = Known.of(rows, weights)
    shared = shared_part(rows, known=known)
    now, faction = np.zeros(memory.n_clients), np.zeros(memory.n_clients, np.int32)
    for number, candidate in enumerate(factions_in(rows, weights, known=known), start=1):
        members = active[candidate.members]
        if 2 * np.isin(here, members).sum() <= len(here):
            now[members] = in_common_units(candidate.strength, n_clients=len(active), shared=shared)
            faction[members] = number
    looks, evidence = memory.looks.copy(), memory.evidence.copy()
    looks[active] += 1
    pace = np.maximum(PACE, 1.0 / (looks[active] + 1))  # one look alone is half a look
    evidence[active] += pace * (now - evidence)[active]
    after = replace(memory, looks=looks, evidence=evidence, faction=faction)
    return after, _Search(shared, known if len(active) == memory.n_clients else None, is_done=True)


def _judged(memory: ClientMemory, needed: float, active: NDArray[np.intp]) -> ClientMemory:
    """Name those against whom there is enough evidence, at most half of the active clients."""
    stays = memory.named & (memory.evidence > FADED * needed)
    guilty = (memory.evidence > needed) | stays
    guilty[_beyond_half(memory, active)] = False
    since = np.where(guilty, np.where(memory.named, memory.since, memory.round), 0)
    return replace(memory, since=since.astype(np.int32))


def _suspected(memory: ClientMemory, evidence: float, active: NDArray[np.intp]) -> NDArray[np.bool_]:
    """Find those against whom there is more than this evidence, at most half of the active clients."""
    suspected = memory.evidence > evidence
    suspected[_beyond_half(memory, active)] = False
    return suspected


def _beyond_half(memory: ClientMemory, active: NDArray[np.intp]) -> NDArray[np.intp]:
    """Find the half of the active clients, or one more, against whom there is least evidence."""
    return active[np.argsort(-memory.evidence[active], kind="stable")[len(active) // 2 :]]


def _verdicts(
    memory: ClientMemory, suspected: NDArray[np.bool_], known: Known | None, *, expels: bool
) -> Iterator[Verdict]:
    """Yield what is to be said of each client; what is known of the first view is not computed again."""
    weights = np.minimum(memory.heard, N_REMEMBERED).astype(np.float64)
    places = map_of(memory.rows, weights, memory.named | suspected, known=known)
    for position, client in enumerate(memory.clients):
        standing: Standing = "clear"
        if memory.since[position] and expels:
            standing = "expelled" if memory.certain[position] else "counts as one"
        elif memory.since[position] or suspected[position]:
            standing = "suspected"
        elif memory.looks[position] == 0 or memory.heard[position] < 2:
            standing = "too early to tell"
        yield Verdict(
            client,
            standing,
            heard=int(memory.heard[position]),
            false_alarm=chance_of_false_alarm(float(memory.evidence[position])),
            faction=int(memory.faction[position]) or None,
            since=int(memory.since[position]) or None,
            place=(round(float(places[position, 0]), 3), round(float(places[position, 1]), 3)),
        )
