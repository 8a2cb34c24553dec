"""Groups among a few points: the closest majority, k-means, how many groups there are, main directions.

Sums are NumPy's over fixed axes, never BLAS's, so that points that are the same get the same answer.
"""

import numpy as np
from numpy.typing import NDArray

__all__ = ["closest_majority", "k_means", "n_groups", "principal_points"]

Array = NDArray[np.float64]

#: Starts of k-means, of which the best counts, and its steps at most.
N_STARTS, N_STEPS = 10, 100
#: A spread below this share of all spread is rounding.
DUST = 1e-12


def closest_majority(distances: Array) -> NDArray[np.bool_]:
    """Return who is in the smallest single-linkage cluster with more than half of all points.

    That is HDBSCAN with min_cluster_size n // 2 + 1, min_samples 1 and a single cluster allowed: no split
    has two sides that large, so the one cluster loses its smaller side at each split and ends where the
    larger one is no majority either. Points that join at the same distance join together.

    >>> closest_majority(np.abs(np.subtract.outer([0.0, 1.0, 2.1, 9.0], [0.0, 1.0, 2.1, 9.0])))
    array([ True,  True,  True, False])
    """
    n = len(distances)
    if n == 1:
        return np.ones(1, dtype=np.bool_)
    order, joins = _spanning_path(distances)
    # Between two points on the path, the cluster that holds both forms at the largest step between them.
    for height in np.sort(joins):
        starts = np.concatenate([[0], np.flatnonzero(joins > height) + 1, [n]])
        longest = int(np.diff(starts).argmax())
        if starts[longest + 1] - starts[longest] > n // 2:
            break
    return np.isin(np.arange(n), order[starts[longest] : starts[longest + 1]])


def _spanning_path(distances: Array) -> tuple[NDArray[np.intp], Array]:
    """Return all points in the order that Prim's algorithm takes them, and the length of each edge it takes.

    A cluster that forms at some height is a run of that order without a longer edge.
    """
    n = len(distances)
    order, joins = np.zeros(n, dtype=np.intp), np.empty(n - 1)
    nearest, is_left = distances[0].copy(), np.arange(n) > 0
    for step in range(1, n):
        order[step] = np.where(is_left, nearest, np.inf).argmin()
        joins[step - 1] = nearest[order[step]]
        is_left[order[step]] = False
        nearest = np.minimum(nearest, distances[order[step]])
    return order, joins


def k_means(points: Array, k: int, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return the group of each point, from 0 on: Lloyd's algorithm, the best of some k-means++ starts.

    Arthur & Vassilvitskii, 2007. With fewer different points than groups, some groups are empty.

    >>> groups = k_means(np.array([[0.0], [9.0], [0.1], [9.1]]), 2, np.random.default_rng(0))
    >>> groups == groups[0]
    array([ True, False,  True, False])
    """
    best, least = np.zeros(len(points), dtype=np.intp), np.inf
    for _ in range(N_STARTS if k > 1 else 1):
        groups = _settled(points, _start(points, k, rng))
        spread = _spread(points, groups)
        if spread < least:
            best, least = groups, spread
    return best


def _start(points: Array, k: int, rng: np.random.Generator) -> Array:
    """Return k of the points, each drawn with a chance in proportion to its squared distance from others."""
    chosen = [int(rng.integers(len(points)))]
    while len(chosen) < k:
        squares = _squares(points, points[chosen]).min(axis=1)
        total = np.cumsum(squares)
        drawn = int(np.searchsorted(total, rng.random() * total[-1], side="right"))
        chosen.append(min(drawn, len(points) - 1))
    return points[chosen]


def _settled(points: Array, centers: Array) -> NDArray[np.intp]:
    """Return the groups after Lloyd's steps from these centres; a group without points keeps its centre."""
    groups = np.full(len(points), -1, dtype=np.intp)
    for _ in range(N_STEPS):
        last, groups = groups, _squares(points, centers).argmin(axis=1)
        if (groups == last).all():
            break
        for group in np.unique(groups):
            centers[group] = points[groups == group].mean(axis=0)
    return groups


def _spread(points: Array, groups: NDArray[np.intp]) -> float:
    """Return the sum of squared distances of all points from the mean of their group."""
    parts = [points[groups == group] for group in np.unique(groups)]
    return float(sum(((part - part.mean(axis=0)) ** 2).sum() for part in parts))


def n_groups(points: Array, rng: np.random.Generator, *, most: int = 8, n_references: int = 10) -> int:
    """Return how many groups there are, from 1 to `most`, by the gap statistic.

    Tibshirani et al., 2001: the first number k whose gap is at least that of k + 1 less one standard error,
    each gap taken to k-means on points drawn uniformly from the box around these.

    >>> crowd = np.random.default_rng(0).normal(size=(30, 2))
    >>> crowd[:10] += 40
    >>> n_groups(crowd, np.random.default_rng(0)), n_groups(np.ones((5, 1)), np.random.default_rng(0))
    (2, 1)
    """
    low, high = points.min(axis=0), points.max(axis=0)
    longest, most = (high - low).max(), min(most, len(points) - 1)
    if most < 1 or longest == 0:
        return 1
    box, sides = (points - low) / longest, (high - low) / longest
    drawn = sides * rng.random((n_references, *points.shape))
    gaps, errors = np.empty(most + 1), np.empty(most + 1)
    for k in range(1, most + 2):
        uniform = np.array([_log_spread(one, k, rng) for one in drawn])
        gaps[k - 1] = uniform.mean() - _log_spread(box, k, rng)
        errors[k - 1] = uniform.std() * np.sqrt(1 + 1 / n_references)
        if k > 1 and gaps[k - 2] >= gaps[k - 1] - errors[k - 1]:
            return k - 1
    return most


def _log_spread(points: Array, k: int, rng: np.random.Generator) -> float:
    whole = _spread(points, np.zeros(len(points), dtype=np.intp))
    return float(np.log(max(_spread(points, k_means(points, k, rng)), DUST * whole, 1e-300)))


def principal_points(gram: Array, k: int) -> Array:
    """Return each row's coordinates along the k directions in which rows differ most, from their products.

    Principal component analysis. A direction that only rounding makes gets zeros.

    >>> np.abs(principal_points(np.array([[0.0, 0.0], [0.0, 4.0]]), 1)).ravel()
    array([1., 1.])
    """
    middle = gram.mean(axis=0)
    centred = gram - middle[:, None] - middle[None, :] + middle.mean()
    _, vectors = np.linalg.eigh(centred)
    # One more product: rows that are the same have the same coordinates, to the bit.
    turned = np.stack([(centred * vector).sum(axis=1) for vector in vectors.T[::-1][:k]], axis=1)
    squares = np.einsum("ij,ij->j", turned, vectors[:, ::-1][:, :k])
    is_told = squares > DUST * gram.diagonal().max()
    return np.asarray(np.divide(turned, np.sqrt(np.abs(squares)), out=np.zeros_like(turned), where=is_told))


def _squares(points: Array, centers: Array) -> Array:
    return np.asarray(((points[:, None, :] - centers[None, :, :]) ** 2).sum(axis=2))
