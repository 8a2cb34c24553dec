"""cached: a momentum of every client ever seen, so that any rule sees all of them in each round."""

import re
import secrets
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kernels
from .._support.counting import check_whole
from .._support.ids import ids_as_bytes, ids_in
from ..core import Aggregate, Rule, rule
from ..core.diagnostics import Diagnostics
from ..errors import InputError, TooFewClientsError
from ..updates.counts import balanced_counts
from ..updates.rows import Rows, Updates, rows_of
from .histories import Roster, Seen, check_rows, in_bytes, present_ids, roster_in
from .momenta import as_rows, moved_in_memory, moved_on_disk
from .outcome import in_form, measured_against
from .settings import check_positive, share_withstood, shares
from .shelf import Shelf
from .trimmed_mean import trimmed_mean

__all__ = ["CachedState", "cached"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class CachedState:
    """What `cached` keeps between rounds: of each client its momentum, or where that is, and last count."""

    clients: NDArray[np.uint8]  # their ids
    last: NDArray[np.int64]  # the round in which each was last seen
    round: NDArray[np.int64]
    counts: NDArray[np.float64]  # examples
    momenta: Array  # [client, coordinate]; of no clients if they lie on disk
    training: NDArray[np.uint8]  # the name of the folder in which they do
    replaced: NDArray[np.uint8]  # names of the files that only older states refer to
    replaced_in: NDArray[np.int64]  # which round


@rule
def cached(
    updates: Updates,
    *,
    rule: Rule = trimmed_mean,
    momentum: float = 0.1,
    folder: str | None = None,
    kept_rounds: int = 5,
    most_clients: int = 1000,
    clients: Sequence[Any] | None = None,
    state: CachedState | None = None,
    **inputs: Any,
) -> Aggregate:
    """Return what another rule makes of the momenta of all clients ever seen, in this round or not.

    Delayed momentum aggregation, Otsuka et al., 2026, https://arxiv.org/abs/2509.02970. The momentum of a
    client in the round moves to 1 - a of itself plus a of its update, a being `momentum`; all others stay. So
    the rule meets the share of attackers that there is among all clients, whoever is drawn. As in the
    paper's first version, a momentum starts at zero: newcomers have little say, and first steps are short.
    Its last version also shrinks the momenta of absent clients, which would rewrite them all in each round.

    Momenta take one model per client, in memory, and twice that while a round runs; or in files in a
    `folder`, which are read piece by piece. A file that is replaced stays for `kept_rounds`, so that a state
    as old can be resumed. Of more than `most_clients`, those who were away longest are forgotten: fresh ids
    fill no more than that. Pass the returned `state` to the next round; the other rule must not keep one.

    >>> first = cached(np.array([[1.0], [3.0]]), momentum=0.5, clients=["ann", "bob"])
    >>> cached(np.array([[8.0]]), momentum=0.5, clients=["eve"], state=first.state).update
    array([1.5])
    """
    _check_settings(rule, momentum, kept_rounds, most_clients)
    rows = rows_of(updates)
    present = present_ids("cached", clients, len(rows), is_first=state is None)
    roster = Roster() if state is None else roster_in("cached", state, CachedState)
    before = _start(rows, folder) if state is None else _checked(state, roster, rows, folder)
    kernels.combine(replace(rows, explain=False), np.zeros(len(rows)))  # refuses what is not finite

    seen = roster.after(present, most=most_clients)
    weights, known = inputs.pop("weights", None), seen.roster
    counts = seen.grown(before.counts)
    counts[seen.places] = _checked_counts(weights, len(rows))
    balanced, notes = (
        (None, ())
        if weights is None
        else balanced_counts(counts, known.clients, withstood=share_withstood(rule))
    )
    before = replace(before, clients=ids_as_bytes(known.clients), last=known.last, counts=counts)
    before = replace(before, round=np.array(known.round))

    if folder is None:
        moved = moved_in_memory(before.momenta, rows, seen, momentum)
        momenta, after, held = as_rows(moved, rows), replace(before, momenta=moved), moved.nbytes
    else:
        shelf = Shelf(Path(folder) / before.training.tobytes().decode())
        files, replaced = moved_on_disk(shelf, roster, rows, seen, momentum)
        after = _tidied(before, shelf, replaced, kept_rounds)
        momenta, held = as_rows(files, rows), shelf.n_bytes
    found = _ruled(rule, momenta, {**inputs, "clients": known.clients, "weights": balanced})
    notes += _notes(seen, f"{in_bytes(held)} {'in memory' if folder is None else f'in {folder}'}")
    said = _said(rows, found, seen, momentum, notes)  # clients are measured before the update is rounded
    is_flat = isinstance(found.update, np.ndarray) and found.update.dtype == rows.dtype
    return Aggregate(rows.layout.restored(found.update) if is_flat else found.update, after, said)


def _check_settings(rule: Rule, momentum: float, kept_rounds: int, most_clients: int) -> None:
    check_positive("momentum", momentum)
    if momentum > 1:
        raise InputError(f"momentum, the share of a new update, must be in (0, 1]; got {momentum!r}")
    check_whole("kept_rounds", kept_rounds, at_least=1)
    check_whole("most_clients", most_clients, at_least=1)
    if rule.needs("state"):
        raise InputError(f"cached keeps a state of its own: choose a rule that keeps none, not {rule.name}")


def _start(rows: Rows, folder: str | None) -> CachedState:
    """Return the state before the first round; files lie in a folder that no other training knows."""
    name = b"" if folder is None else secrets.token_hex(8).encode()
    nobody, never = ids_as_bytes(()), np.zeros(0, np.int64)
    return CachedState(
        clients=nobody,
        last=never,
        round=np.array(0),
        counts=np.zeros(0),
        momenta=np.zeros((0, rows.dim), rows.dtype),
        training=np.frombuffer(name, np.uint8),
        replaced=nobody,
        replaced_in=never,
    )


def _checked(state: CachedState, roster: Roster, rows: Rows, folder: str | None) -> CachedState:
    """Return the state if it fits the roster, the updates, and where momenta are to lie."""
    is_on_disk = state.training.size > 0
    if is_on_disk != (folder is not None):
        where = "in files: pass their folder=" if is_on_disk else "in memory: leave out folder="
        raise InputError(f"this state keeps momenta {where}, or start again with state=None")
    check_rows("cached", state.momenta, (0 if is_on_disk else len(roster.clients), rows.dim))
    is_named = not is_on_disk or re.fullmatch(rb"[0-9a-f]{16}", state.training.tobytes())
    if not is_named or state.counts.shape != roster.last.shape or state.momenta.dtype != rows.dtype:
        raise InputError(f"state is not one of cached, for updates of {rows.dtype}: its parts do not fit")
    return state


def _tidied(state: CachedState, shelf: Shelf, replaced: list[str], kept_rounds: int) -> CachedState:
    """Return the state with the files that this round replaced; those that no state needs are removed."""
    number = int(state.round)
    names = [str(name) for name in ids_in(state.replaced)] + replaced
    rounds = np.concatenate([state.replaced_in, np.full(len(replaced), number)])
    stay = rounds > number - kept_rounds
    shelf.remove(name for name, stays in zip(names, stay, strict=True) if not stays)
    kept = [name for name, stays in zip(names, stay, strict=True) if stays]
    return replace(state, replaced=ids_as_bytes(kept), replaced_in=rounds[stay])


def _checked_counts(weights: ArrayLike | None, n_clients: int) -> Array:
    """Return how many examples each client in the round has; one where that is not told."""
    shares(weights, n_clients)  # refuses what are no counts
    return np.ones(n_clients) if weights is None else np.asarray(weights, dtype=np.float64)


def _ruled(rule: Rule, momenta: Rows, inputs: dict[str, Any]) -> Aggregate:
    """Return what the rule makes of all momenta; zero as long as it needs more clients than were seen."""
    try:
        return in_form(rule.name, momenta.layout, rule.run(momenta, **inputs))
    except TooFewClientsError as error:
        wait = f"the update is zero until enough clients were seen: {error}"
        said = Diagnostics(rule=rule.name, clients=(), notes=(wait,))
        return Aggregate(momenta.layout.restored(np.zeros(momenta.dim, momenta.dtype)), diagnostics=said)


def _notes(seen: Seen, held: str) -> tuple[str, ...]:
    n_known, n_forgotten = len(seen.roster.clients), len(seen.forgotten)
    n_stale = n_known - len(seen.places)
    note = f"the rule sees {n_known} clients, {n_stale} of them by a momentum of an earlier round; {held}"
    if not n_forgotten:
        return (note,)
    return note, f"{n_forgotten} clients who were away longest are forgotten, to remember {n_known}"


def _said(rows: Rows, found: Aggregate, seen: Seen, momentum: float, notes: tuple[str, ...]) -> Diagnostics:
    """Return what the rule said of the clients in this round, each measured by its own update."""
    told = found.diagnostics or Diagnostics(rule="", clients=())
    return Diagnostics(
        rule="cached",
        clients=tuple(range(len(rows))),
        notes=(*(f"{told.rule}: {note}" for note in told.notes), *notes),
        covered=told.covered,
        tolerates=told.tolerates,
        promise=told.promise and f"of the clients' momenta: {told.promise}",
        kept_fraction=told.kept_fraction,
        client_weights=None if told.client_weights is None else momentum * told.client_weights[seen.places],
        selected=None if told.selected is None else told.selected[seen.places],
        **measured_against(rows, found.update),
    )
