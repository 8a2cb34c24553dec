"""CRFL: keep the global model short, and blur it."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .. import kernels
from ..core import Aggregate, rule
from ..updates.layout import PIECE
from ..updates.rows import Updates, rows_of
from .filtering import global_model
from .outcome import weighted_sum
from .settings import check_positive, shares, weight_notes

__all__ = ["crfl"]


@rule
def crfl(
    updates: Updates,
    *,
    max_norm: float = 15.0,
    sigma: float = 0.01,
    weights: ArrayLike | None = None,
    params: Any = None,
    rng: np.random.Generator,
) -> Aggregate:
    """Return what moves the global model to the weighted mean of the clients', shortened, plus normal noise.

    Xie et al., 2021, https://arxiv.org/abs/2106.08283. The next model, `params` plus the mean update, is
    shortened to max_norm, the paper's rho; the defaults are its MNIST's, where rho also grows with the
    rounds. In d coordinates the noise is about sigma * sqrt(d) long. The paper's certificate is not claimed:
    it is about the votes of many noisy copies of the last model, which are cast when it is used, not here.

    >>> rng = np.random.default_rng(0)
    >>> clients = np.array([[3.0, 6.0], [3.0, 2.0]])
    >>> crfl(clients, max_norm=2.5, sigma=0.0, params=np.array([0.0, 0.0]), rng=rng).update
    array([1.5, 2. ])
    """
    check_positive("max_norm", max_norm)
    check_positive("sigma", sigma, or_zero=True)
    rows = rows_of(updates)
    own, notes = global_model(rows, params)
    client_shares = shares(weights, len(rows))
    mean = kernels.combine(replace(rows, explain=False), client_shares).update
    norm = length_of_sum(own, mean)
    clip = min(1.0, max_norm / norm) if norm > 0 else 1.0
    beside = kernels.noise(rows, rng, sigma=sigma)
    for piece in _pieces(rows.dim):
        beside[piece] += (clip - 1) * own[piece].astype(np.float64)
    if clip < 1:
        notes += (f"the model was {norm:.4g} long, and is shortened to max_norm={max_norm:g}",)
    elif sigma == 0:
        notes += ("the model is shorter than max_norm, and sigma is 0: this is plain averaging",)
    notes += weight_notes(client_shares)
    return weighted_sum("crfl", rows, clip * client_shares, beside=(1.0, beside), notes=notes)


def length_of_sum(first: NDArray[Any], second: NDArray[Any]) -> float:
    """Return the length of first + second, which may be longer than what a float squares.

    >>> length_of_sum(np.array([2e200, 0.0]), np.array([-1e200, 0.0]))
    1e+200
    """

    def total(piece: slice) -> NDArray[np.float64]:
        return np.asarray(first[piece].astype(np.float64) + second[piece])

    largest = max(float(np.abs(total(piece)).max()) for piece in _pieces(len(first)))
    if largest == 0:
        return 0.0
    return largest * float(
        np.sqrt(sum(((total(piece) / largest) ** 2).sum() for piece in _pieces(len(first))))
    )


def _pieces(dim: int) -> list[slice]:
    return [slice(at, min(at + PIECE, dim)) for at in range(0, dim, PIECE)]
