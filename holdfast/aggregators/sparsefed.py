"""SparseFed: only the few coordinates with the largest accumulated update move."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..core import Aggregate
from ..errors import InputError
from ..updates import Updates, rows_of
from .geometry import clip_factors
from .outcome import outcome
from .settings import check_fraction, check_positive

__all__ = ["SparseFedState", "sparsefed"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class SparseFedState:
    """What SparseFed keeps between rounds: flat momentum and error, and the client lengths seen so far.

    >>> SparseFedState.start(3, np.dtype(np.float32)).error
    array([0., 0., 0.], dtype=float32)
    """

    momentum: Array
    error: Array
    norms: NDArray[np.float64]

    @classmethod
    def start(cls, dim: int, dtype: np.dtype[Any]) -> "SparseFedState":
        """Return the state before the first round."""
        return cls(np.zeros(dim, dtype), np.zeros(dim, dtype), np.zeros(0))


def sparsefed(
    updates: Updates,
    *,
    kept: float = 0.01,
    momentum: float = 0.9,
    max_norm: float | None = None,
    state: SparseFedState | None = None,
) -> Aggregate:
    """Return the share `kept` of coordinates with the largest accumulated clipped mean; the rest waits.

    Panda et al., 2022, https://arxiv.org/abs/2112.06274. By default an update is clipped to the median of
    all client lengths seen so far. Pass the returned `state` to the next round.

    >>> first = sparsefed(np.array([[3.0, 4.0, 0.0, 0.0], [0.0, 0.0, 2.0, 1.0]]), kept=0.5, max_norm=5.0)
    >>> first.update, first.state.error
    (array([1.5, 2. , 0. , 0. ]), array([0. , 0. , 1. , 0.5]))
    """
    check_positive("kept", kept)
    if kept > 1:
        raise InputError(f"kept, the share of coordinates that move, must be in (0, 1]; got {kept!r}")
    check_fraction("momentum", momentum)
    if max_norm is not None:
        check_positive("max_norm", max_norm)
    rows = rows_of(updates)
    state = SparseFedState.start(rows.dim, rows.dtype) if state is None else state
    _check_state(state, rows.dim)

    norms = np.sqrt(kernels.squared_norms(rows))
    seen_norms = np.concatenate([state.norms, norms])
    limit = float(np.median(seen_norms)) if max_norm is None else max_norm
    client_weights = clip_factors(norms, limit) / len(rows)
    mean = kernels.combine(rows, client_weights)

    velocity = float(momentum) * state.momentum + mean.update
    error = state.error + velocity
    moves = largest(np.abs(error), math.ceil(kept * rows.dim - 1e-9))
    update = np.where(moves, error, 0).astype(rows.dtype)
    left = SparseFedState(np.where(moves, 0, velocity), np.where(moves, 0, error), seen_norms)
    return outcome(
        "sparsefed",
        rows,
        kernels.redirected(mean, rows, update),
        state=left,
        kept_fraction=float(np.count_nonzero(moves) / rows.dim),
    )


def _check_state(state: Any, dim: int) -> None:
    if not isinstance(state, SparseFedState):
        raise InputError(f"state must be what sparsefed returned last round; got {type(state).__name__}")
    if state.error.shape != (dim,) or state.momentum.shape != (dim,):
        raise InputError(f"state is of a model with {state.error.size} numbers; these updates have {dim}")
    if not (np.isfinite(state.error).all() and np.isfinite(state.momentum).all()):
        raise InputError("state holds NaN or infinite values; start anew with state=None")


def largest(values: Array, count: int) -> NDArray[np.bool_]:
    """Return where the `count` largest values are; ties go to the lowest index."""
    threshold = np.partition(values, len(values) - count)[len(values) - count]
    is_largest = np.asarray(values > threshold)
    ties = np.flatnonzero(values == threshold)
    is_largest[ties[: count - np.count_nonzero(is_largest)]] = True
    return is_largest
