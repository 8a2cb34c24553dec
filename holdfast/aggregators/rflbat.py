"""RFLBAT: in the plane in which updates differ most, keep the group whose members are least alike."""

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..core import Aggregate, rule
from ..errors import TooFewClientsError
from ..updates.rows import Rows, Updates, rows_of
from .clusters import k_means, n_groups, principal_points
from .filtering import mean_of_kept
from .geometry import cosines, gram_around, is_hidden, squared_distances
from .settings import check_positive

__all__ = ["rflbat"]

Array = NDArray[np.float64]

#: Groups that the gap statistic looks for, at most, and draws that it compares with.
MOST, N_REFERENCES = 9, 5


@rule
def rflbat(
    updates: Updates, *, outer: float = 10.0, inner: float = 4.0, rng: np.random.Generator
) -> Aggregate:
    """Return the mean of one group of clients, by k-means in two dimensions: that of those least alike.

    Wang et al., 2022, https://arxiv.org/abs/2201.03772. On the first two principal components: drop clients
    whose summed distance from all others is above `outer` times the median; group the others by k-means, as
    many groups as the gap statistic finds; keep the group with the lowest median of mean cosines, because
    backdoors are alike; drop within it by `inner` times the median. A client alone in a group counts as
    alike. So a few attackers who differ more from one another than honest clients do can be all that is kept.

    >>> crowd = np.array([[1.0, 0.2], [1.0, -0.2], [0.8, 0.1], [1.2, -0.1], [-9.0, 9.0], [-9.0, 9.1]])
    >>> rflbat(crowd, rng=np.random.default_rng(0)).diagnostics.selected
    array([ True,  True,  True,  True, False, False])
    """
    check_positive("outer", outer)
    check_positive("inner", inner)
    rows = rows_of(updates)
    if len(rows) < 3:
        raise TooFewClientsError(
            f"rflbat needs at least 3 clients: of two, neither stands apart; got {len(rows)}"
        )
    gram = kernels.gram(rows)
    points = principal_points(_unhidden(rows, gram), 2)
    left = np.flatnonzero(is_near(points, outer))
    n_found = n_groups(points[left], rng, most=MOST, n_references=N_REFERENCES)
    groups = k_means(points[left], n_found, rng)
    left = left[groups == least_alike(cosines(gram)[np.ix_(left, left)], groups)]
    left = left[is_near(points[left], inner)]
    return mean_of_kept("rflbat", rows, np.isin(np.arange(len(rows)), left))


def _unhidden(rows: Rows, gram: Array) -> Array:
    """Return products in which what rows have in common does not hide how they differ."""
    distances = np.median(squared_distances(gram), axis=1)
    middle = int(distances.argmin())
    return gram_around(rows, middle) if is_hidden(gram, middle, distances[middle]) else gram


def is_near(points: Array, times: float) -> NDArray[np.bool_]:
    """Return whose summed distance from all others is at most so many times the median.

    >>> is_near(np.array([[0.0], [1.0], [2.0], [90.0]]), 2.0)
    array([ True,  True,  True, False])
    """
    away = points[:, None, :] - points[None, :, :]
    sums = np.hypot.reduce(away, axis=2).sum(axis=1)
    return np.asarray(sums <= times * np.median(sums))


def least_alike(similar: Array, groups: NDArray[np.intp]) -> int:
    """Return the group with the lowest median of its members' mean cosines with one another, and themselves.

    >>> least_alike(np.array([[1.0, 0.1, 0], [0.1, 1, 0], [0, 0, 1]]), np.array([4, 4, 7]))
    4
    """
    likeness = {
        group: float(np.median(similar[np.ix_(groups == group, groups == group)].mean(axis=1)))
        for group in sorted(set(groups.tolist()))
    }
    return int(min(likeness, key=lambda group: likeness[group]))
