"""What a client's update should be after the last global step, and how far it is from that."""

from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..updates.layout import Layer, Layout
from ..updates.pieces import Stored
from ..updates.rows import Rows, rows_of

__all__ = ["expected_change", "residual_norms"]

Array = NDArray[Any]

#: A prediction beyond this predicts nothing, and its square would overflow.
FARTHEST = 1e140


def expected_change(applied: Array) -> Array:
    """Return how updates change with the last global one: by L-BFGS, from the global updates so far.

    The model moves by each global update, the last row being the newest, and each differs from the one before
    by the curvature along that move. Of a single one nothing is known, and the change is zero.

    >>> steps = np.array([[8.0, 9.0], [4.0, 3.0], [2.0, 1.0]])  # each is [1/2, 1/3] of the one before
    >>> expected_change(steps).round(2)
    array([-1.  , -0.67])
    """
    weights = _change_weights(kernels.gram(rows_of(applied)))
    change = kernels.combine(rows_of(applied), weights).update
    return change if float(np.abs(change).max()) < FARTHEST else np.zeros_like(change)


def residual_norms(rows: Rows, last: Array, change: Array) -> NDArray[np.float64]:
    """Return how far each row is from its client's last one plus a change that all have in common.

    >>> residual_norms(rows_of(np.array([[4.0, 6.0], [1.0, 1.0]])), np.eye(2), np.ones(2))
    array([5.38516481, 1.        ])
    """
    layout = Layout((Layer((rows.dim,), np.dtype(np.float64)),), is_single=True)
    residuals = tuple(
        (_Residual(rows.select([row]), last[row], change, (rows.dim,)),) for row in range(len(rows))
    )
    return np.asarray(np.sqrt(kernels.squared_norms(Rows(layout, residuals))))


def _change_weights(gram: Array) -> NDArray[np.float64]:
    """Return the weights whose sum of global updates is the expected change: L-BFGS in its compact form."""
    n_pairs = len(gram) - 1
    newest = np.eye(n_pairs + 1)[-1]
    moves, changes = np.eye(n_pairs + 1)[:-1], np.diff(np.eye(n_pairs + 1), axis=0)
    if not n_pairs or not gram[-2, -2] > 0:
        return np.zeros(n_pairs + 1)
    gram = gram / gram.diagonal().max()
    among_moves, with_changes = moves @ gram @ moves.T, moves @ gram @ changes.T
    scale = with_changes[-1, -1] / among_moves[-1, -1]
    lower = np.tril(with_changes, -1)
    middle = np.block([[scale * among_moves, lower], [lower.T, -np.diag(np.diag(with_changes))]])
    sides = np.vstack([scale * moves, changes])
    inner, *_ = np.linalg.lstsq(middle, sides @ gram @ newest, rcond=1e-12)
    return np.asarray(scale * newest - inner @ sides)


@dataclass(eq=False)
class _Residual:
    """What is left of a row, computed as it is read: no difference of all coordinates is ever held."""

    own: Rows  # of one client
    last: Array
    change: Array
    shape: tuple[int, ...]
    start: int = 0
    dtype: np.dtype[Any] = field(default_factory=lambda: np.dtype(np.float64))

    def read(self, start: int, out: Array) -> None:
        """Fill `out` with the differences from `start` on."""
        here = slice(self.start + start, self.start + start + out.size)
        out[:] = self.own.block(here.start, here.stop)[0]
        out -= self.last[here]
        out -= self.change[here]

    def part(self, piece: slice) -> Stored:
        """Return a piece of it."""
        return replace(self, start=self.start + piece.start, shape=(piece.stop - piece.start,))

    def in_file(self, start: int, size: int) -> None:
        """Return nothing: it is computed."""
