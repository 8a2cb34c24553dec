"""SparseFed: only the few coordinates with the largest accumulated update move."""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..core import Aggregate, rule
from ..errors import InputError
from ..updates.layout import PIECE, all_finite
from ..updates.rows import Updates, rows_of
from .geometry import clip_factors
from .outcome import outcome
from .settings import check_positive

__all__ = ["SparseFedState", "sparsefed"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class SparseFedState:
    """What SparseFed keeps between rounds: flat momentum and error, and the client lengths seen so far."""

    momentum: Array
    error: Array
    norms: NDArray[np.float64]

    @classmethod
    def start(cls, dim: int, dtype: np.dtype[Any]) -> "SparseFedState":
        """Return the state before the first round."""
        return cls(np.zeros(dim, dtype), np.zeros(dim, dtype), np.zeros(0))


@rule
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
    check_positive("momentum", momentum, or_zero=True)
    if momentum >= 1:
        raise InputError(f"momentum must be in [0, 1); got {momentum!r}")
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

    # Piece by piece, so that what is kept between rounds need not fit into memory.
    velocity, error, update = rows.empty(), rows.empty(), rows.empty()
    for piece in _pieces(rows.dim):
        velocity[piece] = float(momentum) * state.momentum[piece] + mean.update[piece]
        error[piece] = state.error[piece] + velocity[piece]
    n_moves = math.ceil(kept * rows.dim - 1e-9)
    for piece, moves in zip(_pieces(rows.dim), largest(error, n_moves), strict=True):
        update[piece] = np.where(moves, error[piece], 0)
        velocity[piece][moves] = 0
        error[piece][moves] = 0
    seen = kernels.redirected(mean, rows, update)
    left = SparseFedState(velocity, error, seen_norms)
    return outcome("sparsefed", rows, seen, state=left, kept_fraction=n_moves / rows.dim)


def _check_state(state: Any, dim: int) -> None:
    if not isinstance(state, SparseFedState):
        raise InputError(f"state must be what sparsefed returned last round; got {type(state).__name__}")
    if state.error.shape != (dim,) or state.momentum.shape != (dim,):
        raise InputError(f"state is of a model with {state.error.size} numbers; these updates have {dim}")
    if not (all_finite(state.error) and all_finite(state.momentum)):
        raise InputError("state holds NaN or infinite values; start again with state=None")


def largest(values: Array, count: int) -> Iterator[NDArray[np.bool_]]:
    """Yield, piece by piece, where the `count` largest magnitudes are; ties go to the lowest coordinate."""
    threshold, n_ties = _threshold(values, count)
    for piece in _pieces(len(values)):
        magnitudes = _magnitudes(values[piece])
        is_largest = magnitudes > threshold
        ties = np.flatnonzero(magnitudes == threshold)[:n_ties]
        is_largest[ties] = True
        n_ties -= len(ties)
        yield is_largest


def _threshold(values: Array, count: int) -> tuple[int, int]:
    """Return the smallest magnitude among the `count` largest, as bits, and how many such values are taken.

    Found sixteen bits at a time, by counting, so that no sorted copy is needed.
    """
    n_bits = 8 * values.itemsize
    prefix, n_left = 0, count
    for shift in range(n_bits - 16, -1, -16):
        counts = np.zeros(1 << 16, dtype=np.int64)
        for piece in _pieces(len(values)):
            bits = _magnitudes(values[piece])
            if shift < n_bits - 16:
                bits = bits[bits >> (shift + 16) == prefix]
            counts += np.bincount((bits >> shift & 0xFFFF).astype(np.intp), minlength=1 << 16)
        above = np.cumsum(counts[::-1])[::-1]
        digit = int(np.flatnonzero(above >= n_left)[-1])
        n_left -= int(above[digit] - counts[digit])
        prefix = prefix << 16 | digit
    return prefix, n_left


def _magnitudes(values: Array) -> Array:
    """Return whole numbers that are ordered like the magnitudes: a float's bits without the sign."""
    kind = np.uint32 if values.itemsize == 4 else np.uint64
    return np.asarray(np.abs(values).view(kind))


def _pieces(dim: int) -> list[slice]:
    return [slice(at, min(at + PIECE, dim)) for at in range(0, dim, PIECE)]
