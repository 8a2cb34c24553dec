"""The nearest point of a convex hull, exactly, for a handful of corners in any number of dimensions."""

from itertools import combinations
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError

__all__ = ["Nearest", "nearest_in_hull"]

#: All faces are tried: 2 ** n of them.
MOST_CORNERS = 12


class Nearest(NamedTuple):
    """The point of a hull that is nearest to another, as weights of the corners, and how far it is."""

    weights: NDArray[np.float64]
    distance: float


def nearest_in_hull(point: NDArray[Any], corners: NDArray[Any]) -> Nearest:
    """Return the nearest point of the hull of the rows of `corners`.

    On each face the nearest point of the plane through it is found; it counts if it lies in the face.

    >>> found = nearest_in_hull(np.array([2.0, 1.0]), np.array([[0.0, 0.0], [0.0, 2.0], [1.0, 1.0]]))
    >>> found.distance, found.weights.round(3)
    (1.0, array([0., 0., 1.]))
    """
    rows, centre = np.asarray(corners, dtype=np.float64), np.asarray(point, dtype=np.float64)
    if rows.ndim != 2 or centre.shape != rows.shape[1:] or not 1 <= len(rows) <= MOST_CORNERS:
        raise InputError(
            f"a hull needs 1 to {MOST_CORNERS} corners, rows as long as the point; got shapes"
            f" {rows.shape} and {centre.shape}"
        )
    if not (np.isfinite(rows).all() and np.isfinite(centre).all()):
        raise InputError("the point and the corners must be finite")
    away = rows - centre
    gram = away @ away.T
    best = Nearest(np.zeros(len(rows)), np.inf)
    for size in range(1, len(rows) + 1):
        for face in combinations(range(len(rows)), size):
            weights = np.zeros(len(rows))
            weights[list(face)] = _in_plane(gram[np.ix_(face, face)])
            distance = float(np.linalg.norm(weights @ away))
            if weights.min() >= 0 and distance < best.distance:
                best = Nearest(weights, distance)
    return best


def _in_plane(gram: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the weights, adding up to one, of the point nearest to nought in the plane of some corners.

    A face whose corners lie in a smaller plane has many; those with few corners are found on their own.
    """
    n = len(gram)
    scale = gram.diagonal().max() or 1.0
    system = np.ones((n + 1, n + 1))
    system[:n, :n], system[n, n] = gram / scale, 0
    weights: NDArray[np.float64] = np.linalg.lstsq(system, np.eye(n + 1)[n], rcond=None)[0][:n]
    total = weights.sum()
    return weights / total if total else np.full(n, -1.0)
