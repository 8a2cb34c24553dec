"""Distances, angles and lengths, all from the rows' dot products (the Gram matrix)."""

import numpy as np
from numpy.typing import NDArray

__all__ = ["clip_factors", "cosines", "distances_to_sum", "squared_distances"]

Array = NDArray[np.float64]


def squared_distances(gram: Array, part: slice = slice(None)) -> Array:
    """Return the squared distances of all rows, or of a part of them, from all rows."""
    squares = gram.diagonal()
    return np.maximum(squares[part, None] + squares[None, :] - 2 * gram[part], 0)


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
