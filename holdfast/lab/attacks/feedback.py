"""A craft that reads in the global model how its rows fared, and goes on from there."""

from collections.abc import Mapping
from enum import IntEnum
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from .crafts import Crafted

__all__ = ["Reading", "three_d_fed"]

Array = NDArray[Any]
Kept = Mapping[str, Array]

INDICATOR = 10.0  # of the mean square of an update's coordinates, squared: in one coordinate, a large number
FAINTEST = 1e-4  # share of an indicator that can be told from nothing
WHOLE = 0.8  # of the largest share ever read is a whole one
RISE, FALL, WEAKEST, STRONGEST = 1.25, 0.7, 0.1, 5.0  # of the strength


class Reading(IntEnum):
    """What an indicator says of the row that carried it.

    >>> Reading(0).name
    'NOTHING'
    """

    NOTHING = 0  # no trace of it: rejected
    CLIPPED = 1  # less than the best row had in it
    ACCEPTED = 2
    NOISE = 3  # more than it carried, or its opposite


def three_d_fed(
    updates: Array,
    *,
    noise: float = 1.0,
    params: Array,
    layers: tuple[tuple[str, slice], ...],
    rehearsal: Array,
    previous: Array | None = None,
    state: Kept | None = None,
    rng: np.random.Generator,
) -> Crafted:
    """Return the updates under noise that cancels out, each with an indicator whose trace tells how it fared.

    3DFed, Li et al., 2023, https://ieeexplore.ieee.org/document/10179401. Each attacker sends a large number
    in one coordinate of its own that hardly moves. How much of it is in the global model in the next round
    tells whether the row was accepted, clipped or rejected; see `Reading`. If most were accepted, the
    deviation from the rehearsal becomes stronger, up to 5; if most left no trace, weaker, down to 0.1, and
    one more attacker becomes a decoy: honest but for a spike as long as its update, a worse outlier than the
    others. Decoys that are accepted attack again. The noise, `noise` times as long as the deviation, lies in
    the last layer, and its sum over those who attack is zero.

    Where it departs: coordinates are chosen by how little they move, in training, rehearsal and the last
    round, not by their curvature; a share is compared with the largest ever read, so that rows which are all
    clipped show; the noise is random, not optimised against given detectors, and the strength is tuned in
    place of its weight. A rule that trims each coordinate removes every indicator, whatever it does with the
    rest of the row: attackers take that for rejection.

    >>> rows, known = np.array([[3.0, 4.0, 0.0]]), {"params": np.zeros(3), "layers": (("w", slice(0, 2)),)}
    >>> made = three_d_fed(rows, rehearsal=rows / 2, rng=np.random.default_rng(0), **known)
    >>> made.updates.round(1)
    array([[ 3. ,  4. , 28.9]])
    >>> known["params"] = made.updates[0] / 20
    >>> made = three_d_fed(rows, rehearsal=rows / 2, state=made.state, rng=None, **known)
    >>> Reading(made.state["readings"][0])
    <Reading.ACCEPTED: 2>
    """
    if not 0 <= noise < np.inf:
        raise InputError(f"noise must be a finite number of at least 0; got {noise!r}")
    n = len(updates)
    strength, n_decoys, best, readings = _tuned(params, state)
    n_decoys = min(n_decoys, n - 1)
    is_decoy = np.arange(n) >= n - n_decoys
    deviation = updates - rehearsal
    rows = np.where(is_decoy[:, None], rehearsal, rehearsal + updates.dtype.type(strength) * deviation)
    rows[~is_decoy] += _cancelling(strength * deviation[~is_decoy], layers, noise, rng)
    quiet = np.abs(updates).max(axis=0) + np.abs(rehearsal).max(axis=0)
    quiet = quiet if previous is None else quiet + np.abs(previous)
    places = np.argsort(quiet, kind="stable")[:n]
    lengths = np.linalg.norm(rows, axis=1)
    values = np.where(is_decoy, lengths, INDICATOR * lengths / np.sqrt(params.size))
    rows[np.arange(n), places] = values
    kept = {"places": places, "values": values, "quiet": quiet[places], "before": params[places]}
    kept |= {"is_decoy": is_decoy, "readings": readings}
    kept |= {"strength": np.array(strength), "n_decoys": np.array(n_decoys), "best": np.array(best)}
    return Crafted(rows, kept)


def read_indicators(moved: Array, values: Array, quiet: Array, best: float) -> Array:
    """Return the `Reading` of each indicator from how far its coordinate moved.

    `quiet` is how far it may move by itself, `best` the largest share ever read.

    >>> read_indicators(np.array([0.5, 0.1, 0.0, -3.0]), np.full(4, 10.0), np.zeros(4), 0.05).tolist()
    [2, 1, 0, 3]
    """
    shares, faintest = moved / values, np.maximum(FAINTEST, quiet / values)
    heard = np.where(shares <= WHOLE * best, Reading.CLIPPED, Reading.ACCEPTED)
    found = np.where(np.abs(shares) <= faintest, Reading.NOTHING, heard)
    return np.asarray(np.where((shares > 1) | (shares < -faintest), Reading.NOISE, found))


def _tuned(params: Array, state: Kept | None) -> tuple[float, int, float, Array]:
    """Return strength, decoys and the best share for this round, and what was read of the last one."""
    if state is None:
        return 1.0, 0, 0.0, np.empty(0, dtype=np.intp)
    moved = params[state["places"]] - state["before"]
    shares = moved / state["values"]
    best = max(float(state["best"]), float(shares[shares <= 1].max(initial=0.0)))
    readings = read_indicators(moved, state["values"], state["quiet"], best)
    strength, n_decoys = float(state["strength"]), int(state["n_decoys"])
    own = readings[~state["is_decoy"]]
    n_fooled = int((readings[state["is_decoy"]] == Reading.ACCEPTED).sum())
    if 2 * (own == Reading.ACCEPTED).sum() > len(own):
        strength = min(STRONGEST, RISE * strength)
    elif 2 * (own == Reading.NOTHING).sum() > len(own):
        strength = max(WEAKEST, FALL * strength)
        n_decoys += 0 if n_fooled else 1
    return strength, max(0, n_decoys - n_fooled), best, readings


def _cancelling(
    deviation: Array, layers: tuple[tuple[str, slice], ...], noise: float, rng: np.random.Generator
) -> Array:
    """Return noise in the last layer, its weight and bias, that sums to zero over the rows."""
    last = slice(layers[-2:][0][1].start, layers[-1][1].stop)
    made = np.zeros_like(deviation)
    if noise and len(deviation) > 1:
        drawn = rng.standard_normal((len(deviation), last.stop - last.start))
        lengths = np.linalg.norm(deviation[:, last], axis=1, keepdims=True)
        drawn *= noise * lengths / np.linalg.norm(drawn, axis=1, keepdims=True)
        made[:, last] = drawn - drawn.mean(axis=0)
    return made
