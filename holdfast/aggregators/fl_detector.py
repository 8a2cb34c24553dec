"""FLDetector: clients whose updates do not follow from their last ones are dropped."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from .._support.counting import check_whole
from .._support.ids import ids_as_bytes
from ..core import Aggregate, rule
from ..errors import InputError
from ..updates.rows import Rows, Updates, rows_of
from .clusters import k_means, n_groups
from .histories import Roster, Seen, check_rows, present_ids, roster_in
from .outcome import outcome
from .predictions import expected_change, residual_norms

__all__ = ["FLDetectorState", "fl_detector"]

Array = NDArray[Any]

#: No update is longer than the root of this: squares of sums of three of them do not overflow.
LONGEST = 1e302
#: Of fewer scores, none stands out.
N_TOLD = 3


@dataclass(frozen=True, eq=False)
class FLDetectorState:
    """What FLDetector keeps between rounds: clients' scores and last updates, and the last global ones."""

    clients: NDArray[np.uint8]  # their ids
    last: NDArray[np.int64]  # the round in which each was last seen
    round: NDArray[np.int64]
    n_scored: NDArray[np.int64]  # rounds in which clients were scored
    scores: NDArray[np.float64]  # [client, window], the newest last; NaN where there is none
    updates: Array  # [client of the last round, coordinate], in the order of the clients
    applied: Array  # [round, coordinate], the newest last


@rule
def fl_detector(
    updates: Updates,
    *,
    window: int = 10,
    most_clients: int = 1000,
    clients: Sequence[Any] | None = None,
    state: FLDetectorState | None = None,
) -> Aggregate:
    """Return the mean of the clients whose updates follow from their last ones; the others are dropped.

    Zhang et al., 2022, https://arxiv.org/abs/2207.09209. An update is predicted as the client's last one plus
    the change that the last global step makes, by L-BFGS over the global updates of `window` rounds. A
    client's score is its distance from that, relative to all clients', averaged over as many rounds. Once
    there are scores of so many rounds, and the gap statistic sees two clusters in them, the clients of the
    higher one have no say in this round. The paper stops there, removes them and starts the training again;
    here it continues, and they have a say again when their scores fall.

    It needs all clients in every round: who was not in the last one is not scored in this one, and averaged
    unless older scores tell. A poisoner who is consistent is not found. It takes one model per client in the
    round and per round of the window, in memory; of more than `most_clients`, the scores of those who were
    away longest are forgotten. Pass the returned `state` to the next round.

    >>> rng, state = np.random.default_rng(0), None
    >>> for _ in range(14):
    ...     sent = np.ones((6, 8)) + 0.1 * rng.normal(size=(6, 8))
    ...     sent[5] *= rng.normal()
    ...     result = fl_detector(sent, clients=range(6), state=state)
    ...     state = result.state
    >>> result.diagnostics.selected
    array([ True,  True,  True,  True,  True, False])
    """
    check_whole("window", window, at_least=1)
    check_whole("most_clients", most_clients, at_least=1)
    rows = rows_of(updates)
    present = present_ids("fl_detector", clients, len(rows), is_first=state is None)
    roster = Roster() if state is None else roster_in("fl_detector", state, FLDetectorState)
    before = _start(rows, window) if state is None else _checked(state, roster, rows, window)
    rows.refuse(kernels.squared_norms(rows) > LONGEST, "values so large that their length overflows")

    seen = roster.after(present, most=most_clients)
    scores, n_again = _scored(rows, before, roster, seen)
    n_scored = int(before.n_scored) + (n_again > 0)
    is_told = ~np.isnan(scores[seen.places]).all(axis=1)
    selected = np.ones(len(rows), dtype=np.bool_)
    if n_scored >= window:
        selected[is_told] = ~in_high_cluster(np.nanmean(scores[seen.places][is_told], axis=1))
    mean = kernels.combine(rows, selected / selected.sum())

    order, known = np.argsort(seen.places), seen.roster
    after = FLDetectorState(
        ids_as_bytes(known.clients),
        known.last,
        np.array(known.round),
        np.array(n_scored),
        scores,
        rows.select(order).block(0, rows.dim),
        np.concatenate([before.applied, mean.update[None]])[-window - 1 :],
    )
    said = {"selected": selected, "client_weights": selected / selected.sum()}
    notes = _notes(n_scored, window, len(rows) - n_again, len(rows), int((~selected).sum()), seen)
    return outcome("fl_detector", rows, mean, state=after, notes=notes, **said)


def in_high_cluster(scores: NDArray[np.float64]) -> NDArray[np.bool_]:
    """Return who is in the higher of two clusters of scores; nobody if the gap statistic sees only one.

    >>> in_high_cluster(np.array([1.0, 0.9, 1.1, 5.0, 1.0, 5.2]))
    array([False, False, False,  True, False,  True])
    >>> in_high_cluster(np.array([1.0, 0.9, 1.1, 1.3, 0.7, 1.2]))
    array([False, False, False, False, False, False])
    """
    points, rng = scores[:, None], np.random.default_rng(0)  # always the same references to compare with
    if len(scores) < N_TOLD or n_groups(points, rng, most=2) < 2:
        return np.zeros(len(scores), dtype=np.bool_)
    clusters = k_means(points, 2, rng)
    return np.asarray(clusters == clusters[scores.argmax()])


def _start(rows: Rows, window: int) -> FLDetectorState:
    """Return the state before the first round."""
    nothing = np.zeros((0, rows.dim), rows.dtype)
    never, scores = np.zeros(0, np.int64), np.zeros((0, window))
    return FLDetectorState(ids_as_bytes(()), never, np.array(0), np.array(0), scores, nothing, nothing)


def _checked(state: FLDetectorState, roster: Roster, rows: Rows, window: int) -> FLDetectorState:
    """Return the state if it fits the roster, the updates of this round and the window."""
    if state.scores.shape != (len(roster.clients), window):
        raise InputError(f"state is not one of fl_detector with window={window}: its parts do not fit")
    n_last = int((roster.last == roster.round).sum())
    check_rows("fl_detector", state.updates, (n_last, rows.dim))
    check_rows("fl_detector", state.applied, (min(roster.round, window + 1), rows.dim))
    return state


def _scored(
    rows: Rows, before: FLDetectorState, roster: Roster, seen: Seen
) -> tuple[NDArray[np.float64], int]:
    """Return the scores of all clients after this round, and how many of those here were scored."""
    scores = seen.grown(before.scores)
    scores[len(seen.stayed) :] = np.nan
    was_here = np.flatnonzero(roster.last == roster.round) if roster.round else np.zeros(0, np.intp)
    line = {roster.clients[place]: row for row, place in enumerate(was_here)}
    ids = [seen.roster.clients[place] for place in seen.places]
    again = [row for row, client in enumerate(ids) if client in line]
    if len(again) < 2:  # one distance is no share of anything
        return scores, 0
    last = before.updates[[line[ids[row]] for row in again]]
    distances = residual_norms(rows.select(again), last, expected_change(before.applied))
    total = distances.mean()
    places = seen.places[again]
    scores[places, :-1] = scores[places, 1:]
    scores[places, -1] = distances / total if total > 0 else 1.0
    return scores, len(again)


def _notes(n_scored: int, window: int, n_new: int, n: int, n_dropped: int, seen: Seen) -> tuple[str, ...]:
    notes = []
    if n_scored < window:
        notes.append(
            f"nobody is judged yet, this is the mean of all: scores of {n_scored} of {window} rounds"
        )
    if n_new and n_scored:
        notes.append(f"{n_new} of {n} clients were not in the last round, and are not scored in this one")
    if n_dropped:
        notes.append(f"{n_dropped} clients have no say: their updates do not follow from their last ones")
    if len(seen.forgotten):
        n_known = len(seen.roster.clients)
        notes.append(f"{len(seen.forgotten)} clients away longest are forgotten, to remember {n_known}")
    return tuple(notes)
