"""FoolsGold: clients whose updates add up in the same direction, round after round, lose their say."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from .._support.counting import check_whole
from .._support.ids import ids_as_bytes
from ..core import Aggregate, rule
from ..updates.rows import Rows, Updates, rows_of
from ..updates.samples import sample_of
from .geometry import cosines
from .histories import Roster, Seen, check_rows, in_bytes, present_ids, roster_in
from .outcome import weighted_sum
from .settings import check_positive

__all__ = ["FoolsGoldState", "foolsgold", "trust"]

Array = NDArray[Any]

#: What is left of a difference between cosines of copies is rounding.
ROUNDING = 1e-9


@dataclass(frozen=True, eq=False)
class FoolsGoldState:
    """What FoolsGold keeps between rounds: each client's updates, added up, on the coordinates it samples."""

    clients: NDArray[np.uint8]  # their ids
    last: NDArray[np.int64]  # the round in which each was last seen
    round: NDArray[np.int64]
    seed: NDArray[np.int64]  # of the sample
    history: Array  # [client, coordinate]


@rule
def foolsgold(
    updates: Updates,
    *,
    confidence: float = 1.0,
    sample: int = 262_144,
    most_clients: int = 1000,
    clients: Sequence[Any] | None = None,
    state: FoolsGoldState | None = None,
    rng: np.random.Generator | None = None,
) -> Aggregate:
    """Return the updates' mean, weighted by how unlike all others a client's own history is.

    Fung et al., 2020, https://arxiv.org/abs/1808.04866. A client's history is the sum of its updates, none
    counted as longer than 1. Its weight falls with its largest cosine with another's history, pardoned where
    the other is even more like a third; a logit of this `confidence` spreads the weights over 0 to 1.
    Histories go by client id, where published copies add them up by position in the round, and are compared
    with those of all clients seen so far, here or not. The paper adds the weighted updates up; here they are
    averaged. Honest clients with the same data look like copies of each other, and lose their say, too. It
    finds clients who collude, and bounds nobody who does not: put `arc` in front of it.

    A history takes `sample` numbers per client, 1 MB: all coordinates of a smaller model, else a
    secret sample. Beyond `most_clients`, those who were away longest are forgotten. Pass the returned
    `state` to the next round.

    >>> updates = np.array([[1.0, 0.0], [0.0, 1.0], [-1.0, -1.0], [-1.0, -1.0]])
    >>> foolsgold(updates, clients=["ann", "bob", "eve", "dan"]).update
    array([0.5, 0.5])
    """
    check_positive("confidence", confidence)
    check_whole("sample", sample, at_least=1)
    check_whole("most_clients", most_clients, at_least=1)
    rows = rows_of(updates)
    present = present_ids("foolsgold", clients, len(rows), is_first=state is None)
    roster = Roster() if state is None else roster_in("foolsgold", state, FoolsGoldState)
    seen = roster.after(present, most=most_clients)
    kept = _with_round(rows, seen, state, sample, rng)

    say = trust(cosines(kernels.gram(rows_of(kept.history))), confidence)[seen.places]
    total = say.sum()
    client_weights = say / total if total > 0 else say
    notes = _notes(rows, kept, len(seen.forgotten), is_trusted=total > 0)
    return weighted_sum("foolsgold", rows, client_weights, selected=say > 0, state=kept, notes=notes)


def trust(similar: Array, confidence: float) -> NDArray[np.float64]:
    """Return each client's weight in 0 to 1 from the cosines of all pairs of histories.

    >>> trust(np.array([[1.0, 0.1, 0.0], [0.1, 1.0, 1.0], [0.0, 1.0, 1.0]]), 1.0)
    array([1., 0., 0.])
    """
    similar = np.where(np.eye(len(similar), dtype=np.bool_), 0.0, similar)
    closest = similar.max(axis=1)
    # An honest client that happens to be like one of two copies is less alike to it than they are.
    pardon = np.minimum(1, closest[:, None] / np.where(closest > 0, closest, 1))
    alone: NDArray[np.float64] = np.clip(1 - (similar * pardon).max(axis=1), 0, 1)
    alone[alone < ROUNDING] = 0
    if not alone.any():
        return alone
    alone /= alone.max()
    with np.errstate(divide="ignore"):
        return np.asarray(np.clip(confidence * (np.log(alone / (1 - alone)) + 0.5), 0, 1))


def _with_round(
    rows: Rows, seen: Seen, state: FoolsGoldState | None, sample: int, rng: np.random.Generator | None
) -> FoolsGoldState:
    """Return what is remembered after this round."""
    norms = np.sqrt(kernels.squared_norms(rows))
    seed = 0 if state is None else int(state.seed)
    if state is None and sample < rows.dim:
        seed = int((rng or np.random.default_rng()).integers(2**31))
    where = sample_of(rows.dim, size=sample, seed=seed)
    old = np.empty((0, len(where)), rows.dtype) if state is None else state.history
    if state is not None:
        check_rows("foolsgold", old, (len(seen.stayed) + len(seen.forgotten), len(where)))
    history = seen.grown(old)
    history[seen.places] += rows.at(where) / np.maximum(1, norms)[:, None]
    roster = seen.roster
    return FoolsGoldState(
        ids_as_bytes(roster.clients), roster.last, np.array(roster.round), np.array(seed), history
    )


def _notes(rows: Rows, kept: FoolsGoldState, n_forgotten: int, *, is_trusted: bool) -> tuple[str, ...]:
    n_clients, n_watched = kept.history.shape
    notes = [] if is_trusted else ["all clients have histories alike: nobody has a say, the update is zero"]
    if n_watched < rows.dim:
        held = in_bytes(kept.history.nbytes)
        notes.append(f"histories of {n_clients} clients on {n_watched} of {rows.dim} coordinates take {held}")
    if n_forgotten:
        notes.append(f"{n_forgotten} clients who were away longest are forgotten, to remember {n_clients}")
    return tuple(notes)
