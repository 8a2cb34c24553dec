"""Distances, angles and lengths, all from the rows' dot products (the Gram matrix).

Squares are taken in float64: rows shorter than 1e-154 count as zero, and those longer than 1e154 are refused.
"""

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..errors import DataError
from ..updates.rows import Rows

__all__ = [
    "clear_distances",
    "clip_factors",
    "cosines",
    "distances_to_sum",
    "gram_around",
    "is_hidden",
    "squared_distances",
]

Array = NDArray[np.float64]

#: A squared distance below this share of the squares it is the difference of has lost half of its digits.
HIDDEN = 1e-8


def squared_distances(gram: Array, part: slice = slice(None)) -> Array:
    """Return the squared distances of all rows, or of a part of them, from all rows."""
    squares = gram.diagonal()
    return np.maximum(squares[part, None] + squares[None, :] - 2 * gram[part], 0)


def clear_distances(rows: Rows, n_nearest: int) -> Array:
    """Return the squared distances of all rows from all rows, where rounding would hide them taken again.

    They are then those around the row that is closest to its n_nearest, itself included.
    """
    gram = kernels.gram(rows)
    distances = squared_distances(gram)
    spreads = np.sort(distances, axis=1)[:, :n_nearest].mean(axis=1)
    best = int(spreads.argmin())
    if is_hidden(gram, best, spreads[best]):
        return squared_distances(gram_around(rows, best))
    return distances


def cosines(gram: Array, part: slice = slice(None)) -> Array:
    """Return the cosines of all rows, or of a part of them, with all rows; 0 where one of them is zero."""
    norms = np.sqrt(gram.diagonal())
    lengths = np.outer(norms[part], norms)
    return np.asarray(np.divide(gram[part], lengths, out=np.zeros_like(lengths), where=lengths > 0))


def distances_to_sum(gram: Array, weights: Array) -> Array:
    """Return the distance of each row from the weighted sum of rows, without a look at the rows."""
    products = gram @ weights
    return np.sqrt(np.maximum(gram.diagonal() - 2 * products + weights @ products, 0))


def clip_factors(norms: Array, max_norm: float) -> Array:
    """Return what each row is multiplied by to be no longer than max_norm; 1 for a row of zeros."""
    return np.divide(max_norm, norms, out=np.ones_like(norms), where=norms > max_norm)


def is_hidden(gram: Array, row: int, squared_distance: float) -> bool:
    """Return whether what rows have in common is so long that rounding hides this distance from a row."""
    return bool(squared_distance <= HIDDEN * gram[row, row])


def gram_around(rows: Rows, center: int) -> Array:
    """Return the dot products of all rows less one of them, which have the same distances, not hidden."""
    try:
        return kernels.gram(rows.around(center))
    except DataError:  # a file that its owner has changed since
        rows.refuse(np.arange(len(rows)) == center, "numbers that can no longer be read")
        raise
