"""What a watch says of a round, and what of it counts: hearings, operators' pardons, rewinds."""

import logging
from collections.abc import Collection, Mapping
from copy import deepcopy
from dataclasses import replace
from typing import Any

import numpy as np

from .._support.counting import counted
from .._support.ids import named
from ..core import Memory, Rule, Watch, bind
from ..errors import NonFiniteError
from ..watching import N_HEARD, Watched
from ..watching.verdicts import N_SEARCHED
from .outcomes import Apply, Defended, start_kept, unchanged
from .rehearsing import rehearse
from .screening import Screened

__all__ = ["hearing", "heeded", "read_by"]

verdict_log = logging.getLogger("holdfast.verdicts")

#: What an operator is told when so many clients have left, or were banned, that none is compared any more.
BLIND = f"the watch looks for nobody any more: it needs {N_SEARCHED} clients, and fewer still take part"
#: And in the place of a rewind where only updates are at hand.
NO_MODEL = (
    "clients who had a say before are expelled: take the model back to its start yourself. There is none"
    " here; with base= or like= it goes back by itself"
)


def read_by(
    watch: Watch,
    found: Screened,
    memory: Memory,
    pardoned: Collection[Any],
    rng: np.random.Generator | None,
) -> tuple[Screened, Watched | None]:
    """Return the round without rows that the watch cannot read, and what it says of the others, if any."""
    bound, own = bind(watch, "watch"), deepcopy(rng)  # so that a rule's noise is that without a watch
    known = {"state": memory.watch, "pardoned": pardoned}
    while found.clients:
        try:
            return found, bound.run(found.rows, clients=found.clients, rng=own, **known)
        except NonFiniteError as error:
            found = found.without(dict.fromkeys(error.rows, f"holds {error.problem}"))
    return found, None


def heeded(
    found: Screened,
    watched: Watched,
    memory: Memory,
    pardoned: Collection[Any],
    *,
    rewinds_here: bool,
) -> tuple[Screened, Watched, Memory]:
    """Return the round, what the watch says that counts, and the memory of it; changed verdicts are logged.

    With `rewinds_here`, a rewind for which no model is at hand is left to the caller, in a note.
    """
    watched = _pardoning(watched, found, pardoned)
    found = replace(found, notes=(*found.notes, *_mistaken_pardons(watched, pardoned)))
    memory = replace(memory, watch=watched.state, start=start_kept(found, memory, watched))
    if rewinds_here:
        watched, found = _possible(watched, found, memory)
    if watched.is_blind:
        found = replace(found, notes=(*found.notes, BLIND))
    for verdict in watched.verdicts.changed:
        verdict_log.warning("%s", verdict)
    return found, watched, memory


def hearing(
    bound: Rule,
    found: Screened,
    memory: Memory,
    inputs: Mapping[str, Any],
    n_left: int | None,
    apply: Apply | None,
) -> Defended:
    """Return the outcome of a round in which clients are heard: nothing is applied."""
    rehearse(bound)  # what is set wrongly is told of now, not after the hearing
    bound.check_given({**inputs, "weights": found.weights, "clients": found.clients})
    is_heard = len(found.clients) >= N_HEARD
    why = "this is a hearing: nothing is applied until all were heard"
    if not is_heard:
        why += f", and fewer than {N_HEARD} clients at a time cannot be"
    elif n_left is not None:
        why += f", for about {counted(n_left, 'more round')}"
    return unchanged(bound, found, memory, why, apply, is_expected=is_heard)


def _pardoning(watched: Watched, found: Screened, pardoned: Collection[Any]) -> Watched:
    """Return the same where those whom an operator has pardoned keep their say: suspected at most."""
    names = {named(client) for client in pardoned}
    if not names:
        return watched
    silenced = {row: why for row, why in watched.silenced.items() if named(found.clients[row]) not in names}
    told = tuple(
        replace(verdict, standing="suspected")
        if verdict.client in names and verdict.standing in ("expelled", "counts as one")
        else verdict
        for verdict in watched.verdicts
    )
    return replace(watched, silenced=silenced, verdicts=replace(watched.verdicts, clients=told))


def _possible(watched: Watched, found: Screened, memory: Memory) -> tuple[Watched, Screened]:
    """Return the same without a rewind where no model goes back: the caller is asked to do it instead."""
    if not watched.rewinds or memory.start is not None:
        return watched, found
    stays = replace(watched, verdicts=replace(watched.verdicts, rewound=False))
    return stays, replace(found, notes=(*found.notes, NO_MODEL))


def _mistaken_pardons(watched: Watched, pardoned: Collection[Any]) -> tuple[str, ...]:
    """Return a note on ids that look like a client's and are not: "3" is not 3."""
    known = {one.client for one in watched.verdicts}
    alike = {str(client): client for client in known}
    wrong = [name for name in map(named, pardoned) if name not in known and str(name) in alike]
    return tuple(f"pardoned holds {name!r}, and the client's id is {alike[str(name)]!r}" for name in wrong)
