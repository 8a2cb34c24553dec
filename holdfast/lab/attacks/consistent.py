"""A craft that pushes one way for the whole training, and watches whether the model gives way."""

import math
from collections.abc import Mapping
from statistics import NormalDist
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...errors import InputError
from .crafts import Crafted

__all__ = ["poisoned_fl"]

Array = NDArray[Any]

LEVEL = 0.99  # of the test whether more coordinates moved along than by chance
FALL, LEAST = 0.7, 0.5  # what the factor is scaled by where they did not, and its lower end


def poisoned_fl(
    updates: Array,
    *,
    factor: float = 8.0,
    every: int = 5,
    params: Array,
    previous: Array | None = None,
    state: Mapping[str, Array] | None = None,
    rng: np.random.Generator,
) -> Crafted:
    """Return a random direction, the same in all rounds, with sizes like the last update's. Untargeted.

    PoisonedFL, Xie et al., 2025, https://arxiv.org/abs/2404.15611. All attackers send
    `factor * |previous| * v * s`: s are signs drawn once, v is as long as 1 and in each coordinate
    proportional to the distance between the last global update and their own last one, brought to its length.
    After every `every` rounds a binomial test asks whether more coordinates than by chance have moved along
    s. If not, the factor falls, to 0.5 at least. The paper tests after every 50 of thousands of rounds, and
    counts a coordinate that did not move by the sign of its weight; here it does not count. In the first
    round nothing is known, and nothing is changed.

    >>> signs = np.array([1, -1, 1])
    >>> state = {"signs": signs, "own": np.zeros(3), "factor": 2.0, "params": np.zeros(3), "waited": 0}
    >>> known = {"params": np.zeros(3), "previous": np.array([3.0, 4.0, 0.0]), "rng": np.random.default_rng()}
    >>> poisoned_fl(np.ones((1, 3)), state=state, **known).updates
    array([[ 6., -8.,  0.]])
    """
    check_whole("every, the rounds between two tests,", every, at_least=1)
    if not LEAST <= factor < np.inf:
        raise InputError(f"factor must be a finite number of at least {LEAST}; got {factor!r}")
    if state is None:
        signs = 2 * rng.integers(2, size=params.size, dtype=np.int8) - 1
        state = {"signs": signs, "own": np.zeros_like(params), "factor": np.array(float(factor))}
        state |= {"params": params.copy(), "waited": np.array(0)}
    if previous is None:
        return Crafted(updates.copy(), state)
    signs, now, waited, start = (
        state["signs"],
        float(state["factor"]),
        int(state["waited"]) + 1,
        state["params"],
    )
    if waited > every:
        if not moved_along(params.astype(np.float64) - start, signs):
            now = max(LEAST, FALL * now)
        start, waited = params.copy(), 1
    last, own = previous.astype(np.float64), state["own"].astype(np.float64)
    length = np.linalg.norm(last)
    sizes = np.abs(last - own * (length / (np.linalg.norm(own) or 1.0)))
    most = np.finfo(updates.dtype).max  # under plain averaging the model is soon as long as numbers go
    sizes = np.minimum(now * length / (np.linalg.norm(sizes) or 1.0) * sizes, most)
    row = (sizes * signs).astype(updates.dtype)
    kept = {"signs": signs, "own": row, "factor": np.array(now), "params": start, "waited": np.array(waited)}
    return Crafted(np.repeat(row[None], len(updates), axis=0), kept)


def moved_along(moved: Array, signs: Array) -> bool:
    """Return whether more coordinates went the way of the signs than would by chance.

    >>> moved_along(np.ones(100), np.where(np.arange(100) < 63, 1, -1))
    True
    """
    n_moved, n_along = int(np.count_nonzero(moved)), int((np.sign(moved) == signs).sum())
    return n_along + 0.5 - n_moved / 2 >= NormalDist().inv_cdf(LEVEL) * math.sqrt(n_moved) / 2
