"""Multi-metrics: keep those whose length and angle are most like everybody's."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from .._support.counting import as_written
from ..core import Aggregate, rule
from ..errors import InputError, TooFewClientsError
from ..updates.rows import Updates, rows_of
from .filtering import global_model, mean_of_kept

__all__ = ["multi_metrics"]

Array = NDArray[np.float64]

#: Spread below this share of a metric's size, or of all spread, is rounding.
DUST = 1e-12


@rule
def multi_metrics(updates: Updates, *, kept: float = 0.3, params: Any = None) -> Aggregate:
    """Return the mean of the share `kept` of clients whose three metrics differ least from all others'.

    Huang et al., 2023, https://arxiv.org/abs/2303.06601. The metrics x_i are the Manhattan and the Euclidean
    length of the update, and the cosine of the client's model with the global one, `params`. With
    t_i = sum_j |x_i - x_j|, the score is t_i' C^-1 t_i, where C is the covariance of all t; a metric in which
    clients do not differ does not count. An update as long as the others' passes, wherever it points.
    The authors' code takes sums of pairwise distances of models for t instead: such scores of four
    attackers among twenty clients are no higher than those of the honest, however far away they are.

    >>> crowd = np.array([[1.0, 0.1], [1.0, 0.0], [1.1, 0.1], [1.0, 0.2], [0.9, 0.1], [1.0, 9.0]])
    >>> multi_metrics(crowd, kept=0.5).diagnostics.selected
    array([ True, False,  True, False,  True, False])
    """
    if not 0 < as_written(kept, "kept") <= 1:
        raise InputError(f"kept, the share of clients that are averaged, must be in (0, 1]; got {kept!r}")
    rows = rows_of(updates)
    n = len(rows)
    if n < 3:
        raise TooFewClientsError(
            f"multi_metrics needs at least 3 clients: of two, each differs as much from the other; got {n}"
        )
    own, notes = global_model(rows, params)
    squares, dots = kernels.projections(rows, own)
    metrics = np.stack([kernels.magnitudes(rows), np.sqrt(squares[:-1]), turns(squares, dots)], axis=1)
    differences = np.abs(metrics[:, None, :] - metrics[None, :, :]).sum(axis=1)
    scores = whitened_squares(differences, n * metrics.max(axis=0))
    n_kept = max(1, int(as_written(kept) * n + 1e-9))
    is_kept = np.isin(np.arange(n), np.argsort(scores, kind="stable")[:n_kept])
    if n_kept == n:
        notes += ("kept=1: nobody is dropped, and this is plain averaging",)
    return mean_of_kept("multi_metrics", rows, is_kept, notes=notes)


def turns(squares: Array, dots: Array) -> Array:
    """Return 1 - cos of each model with the global one; 1 where either is zero.

    From squared lengths, and dot products with the global model, of the updates and, last, of that model.
    An angle is small: its sine, in which the model itself cancels out, tells it better than its cosine.

    >>> turns(np.array([1.0, 4.0, 4.0]), np.array([0.0, -4.0, 4.0])).round(4)
    array([0.1056, 1.    ])
    """
    own, (across, along) = squares[-1], (squares[:-1], dots[:-1])
    lengths = np.maximum(across + 2 * along + own, 0)
    products = np.sqrt(lengths) * np.sqrt(own)
    is_angle = products > 0
    ones = np.ones_like(products)
    cosines = np.divide(along + own, products, out=0 * ones, where=is_angle)
    shares = np.divide(across, lengths, out=ones, where=is_angle)
    sines = shares - np.divide(along, products, out=0 * ones, where=is_angle) ** 2
    return np.asarray(np.where(cosines > 0, np.maximum(sines, 0) / (1 + np.abs(cosines)), 1 - cosines))


def whitened_squares(values: Array, sizes: Array) -> Array:
    """Return x' C^-1 x of each row x, with C the covariance of the rows.

    A column whose spread is rounding beside its size is left out.

    >>> whitened_squares(np.array([[1.0, 5.0], [2.0, 5.0], [3.0, 5.0]]), np.array([3.0, 5.0]))
    array([1., 4., 9.])
    """
    unit = np.divide(values, sizes, out=np.zeros_like(values), where=sizes > 0)
    spread = unit.std(axis=0, ddof=1)
    is_told = spread > DUST
    told = unit[:, is_told] / spread[is_told]
    away = told - told.mean(axis=0)
    lengths, directions = np.linalg.eigh(np.einsum("ij,ik->jk", away, away) / (len(told) - 1))
    turned = np.einsum("ij,jk->ik", told, directions[:, lengths > DUST])
    return np.asarray((turned**2 / lengths[lengths > DUST]).sum(axis=1))
