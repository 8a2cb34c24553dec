"""The main directions of a crowd of points, and the split in two that is most unlike one crowd."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.threads import in_parts

__all__ = ["Split", "best_split", "leading_directions"]

Array = NDArray[Any]

#: Steps of the subspace iteration, and directions beyond those wanted that make it converge sooner.
N_STEPS, N_MORE = 24, 4
#: Shares of all points that a start takes: a point and its nearest neighbours.
SHARES = (0.05, 0.1, 0.2, 0.3)
#: Points that start a search, at most, and fewer where there are many: so many distances in all.
N_STARTS, N_DISTANCES = 256, 64_000
#: Of more points than that, a sample is searched, and what is found is refined on all.
N_SEARCHED = 2_000


class Split(NamedTuple):
    """A split of points in two: how much likelier it is than one crowd, in nats per point, and who is out."""

    score: float
    outside: NDArray[np.bool_]


def leading_directions(gram: Array, k: int) -> Array:
    """Return k orthonormal columns that span the main directions of a Gram matrix, nearly the largest ones.

    The same bits for any number of threads, unlike LAPACK's.

    >>> leading_directions(np.diag([1.0, 9.0, 4.0]), 1).round(6).ravel()
    array([0., 1., 0.])
    """
    from ._directions import leading_directions as turn

    n = len(gram)
    k = min(k, n)
    basis = np.random.default_rng(0).normal(size=(n, min(n, k + N_MORE)))
    turn(np.ascontiguousarray(gram, dtype=np.float64), basis, N_STEPS)
    return np.ascontiguousarray(basis[:, :k])


def best_split(points: Array, *, least: int) -> Split:
    """Return the split of points in two, of at least `least` each, that is most unlike one crowd.

    The points are whitened. A split of shares p and 1 - p is scored on the line through the means of its two
    sides, by the classification likelihood -1/2 log(1 - eta) - H(p): eta is the share of the variance that
    lies between the two sides, H the entropy. The search starts from points with their neighbours.

    >>> crowd = np.random.default_rng(0).normal(size=(40, 3))
    >>> crowd[:6] += [0, 9, 0]
    >>> np.flatnonzero(best_split(crowd, least=2).outside)
    array([0, 1, 2, 3, 4, 5])
    """
    white = _whitened(points)
    if len(white) <= N_SEARCHED:
        return _refined(white, _starts(white, least), least)
    some = np.linspace(0, len(white) - 1, N_SEARCHED).astype(int)
    found = _refined(white[some], _starts(white[some], least), least).outside
    middle = white[some][found].mean(axis=0), white[some][~found].mean(axis=0)
    nearer = np.einsum("ij,j->i", white - (middle[0] + middle[1]) / 2, middle[0] - middle[1]) > 0
    return _refined(white, nearer[None], least)


def _starts(white: Array, least: int) -> NDArray[np.bool_]:
    """Return splits to start from: points, each with a share of all that are nearest to it."""
    n = len(white)
    starts = np.linspace(0, n - 1, min(n, N_STARTS, max(8, N_DISTANCES // n))).astype(int)
    squares = np.einsum("ij,ij->i", white, white)
    distances = squares[starts, None] + squares - 2 * np.einsum("ij,kj->ik", white[starts], white)
    nearest = np.argsort(distances, axis=1, kind="stable")
    sizes = dict.fromkeys(max(least, round(share * n)) for share in SHARES)
    masks = np.zeros((len(sizes) * len(starts), n), dtype=np.bool_)
    for part, size in enumerate(sizes):
        block = masks[part * len(starts) : (part + 1) * len(starts)]
        np.put_along_axis(block, nearest[:, :size], True, axis=1)
    return masks


def _refined(white: Array, masks: NDArray[np.bool_], least: int) -> Split:
    """Return the best of these splits, each improved until its score no longer rises."""
    from ._splits import refined_splits

    scores = np.empty(len(masks))

    def refine(part: slice) -> None:
        refined_splits(white, masks[part], least, scores[part])

    in_parts(refine, len(masks))
    best = int(scores.argmax())
    return Split(float(scores[best]), masks[best])


def _whitened(points: Array) -> Array:
    """Return the points, centred, with equal variance in all directions; those without any are left out."""
    centred = points - points.mean(axis=0)
    values, vectors = np.linalg.eigh(np.einsum("ij,ik->jk", centred, centred) / len(points))
    kept = values > 1e-12 * max(values[-1], 1e-300)
    return np.asarray(np.einsum("ij,jk->ik", centred, vectors[:, kept] / np.sqrt(values[kept])))
