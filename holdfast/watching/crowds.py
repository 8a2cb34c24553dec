"""Is this one crowd? The search for factions in what is remembered of the clients.

A faction is a part of the clients whose deviations are so alike, and so unlike everybody else's, that two
crowds explain what is remembered much better than one. Its strength is measured in nats: by how much the
logarithm of the likelihood rises, beyond what the search finds in pure noise.
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.threads import for_each
from ..kernels.splits import best_split, leading_directions
from . import integers
from .integers import IntegerRows
from .verdicts import N_SEARCHED

__all__ = [
    "Faction",
    "Known",
    "factions_in",
    "main_points",
    "map_of",
    "sample_products",
    "shared_part",
]

Array = NDArray[Any]

#: Directions that are searched, at most, and clients for each of them.
N_DIRECTIONS, PER_DIRECTION = 12, 5
#: Directions are found from so many clients, at most.
N_FOR_DIRECTIONS = 512
#: A faction has at least so many members, and this share of the clients: smaller ones are easily outvoted.
LEAST, LEAST_SHARE = 3, 0.08
#: Factions are looked for one after the other, while they are at least this strong, in nats.
N_FACTIONS, WORTHWHILE = 5, 7.0
#: Directions that most clients of a skewed federation share; found without a quarter, tried on it.
N_SHARED, N_FOLDS = 8, 4

#: How strong the best split of n points of Gaussian noise is on average, in nats.
NOISE_AT = (8, 10, 15, 20, 30, 40, 50, 75, 100, 150, 200, 300, 500, 1000, 5000)
NOISE = (0.4, 2.9, 5.7, 7.1, 10.4, 13.8, 15.8, 16.7, 15.8, 12.9, 12.3, 11.5, 12.0, 12.0, 10.0)


class Faction(NamedTuple):
    """Some of the clients, by position, and how strong the evidence is that they are no part of the crowd."""

    members: NDArray[np.intp]
    strength: float  # nats


class Known(NamedTuple):
    """What is computed of some rows once, because several questions need it."""

    gram: NDArray[np.float64]  # see sample_products
    points: NDArray[np.float64]  # see main_points

    @classmethod
    def of(cls, rows: IntegerRows, weights: NDArray[np.float64]) -> "Known":
        """Return what is known of these rows."""
        gram = sample_products(rows)
        return cls(gram, main_points(rows, weights, gram=gram))


def factions_in(
    rows: IntegerRows, weights: NDArray[np.float64], *, known: Known | None = None
) -> list[Faction]:
    """Return the factions among these rows, found one after the other, the rest being searched again.

    Never more than half of the rows are in factions. What is `known` of the rows is not computed again.

    >>> rng = np.random.default_rng(0)
    >>> rows = rng.normal(scale=400, size=(40, 300))
    >>> rows[:8] += rng.normal(scale=400, size=300)
    >>> found = factions_in(rows.astype(np.int16), np.ones(40))
    >>> [faction.members.tolist() for faction in found]
    [[0, 1, 2, 3, 4, 5, 6, 7]]
    """
    n, left = len(rows), np.arange(len(rows))
    least = max(LEAST, round(LEAST_SHARE * n))
    gram, points = known or Known.of(rows, weights)
    found: list[Faction] = []
    while len(found) < N_FACTIONS and len(left) >= N_SEARCHED:
        split = best_split(points, least=least)
        strength = len(left) * split.score - float(np.interp(np.log(len(left)), np.log(NOISE_AT), NOISE))
        rest = left[~split.outside]
        if strength < WORTHWHILE or len(rest) < n / 2:
            break
        found.append(Faction(left[split.outside], strength))
        left = rest
        inner = gram[np.ix_(left, left)] if len(gram) == n else sample_products(rows[left])
        points = main_points(rows[left], weights[left], gram=inner)
    return found


def sample_products(rows: IntegerRows) -> NDArray[np.float64]:
    """Return the products of all pairs of rows; of many rows, those of an even sample.

    >>> sample_products(np.array([[1, 2], [3, 4]], dtype=np.int16))
    array([[ 5., 11.],
           [11., 25.]])
    """
    return integers.gram(rows[_sample(len(rows))])


def main_points(
    rows: IntegerRows, weights: NDArray[np.float64], *, gram: NDArray[np.float64] | None = None
) -> NDArray[np.float64]:
    """Return every row along the main directions of all, of which each row counts by its weight.

    `gram` is what `sample_products` returns, if known.

    >>> rows = np.array([[9, 0], [-9, 0], [8, 1], [-8, -1]], dtype=np.int16)
    >>> np.abs(main_points(rows, np.ones(4)).round().ravel())
    array([9., 9., 8., 8.])
    """
    n, some = len(rows), _sample(len(rows))
    sampled, roots = rows[some], np.sqrt(weights[some])
    share = weights[some] / max(weights[some].sum(), 1.0)  # nobody at all was heard in rounds of very few
    gram = centred(sample_products(rows) if gram is None else gram, share) * roots[:, None] * roots
    k = min(N_DIRECTIONS, max(1, n // PER_DIRECTION), len(some))
    directions = leading_directions(gram, k) * roots[:, None]
    directions -= directions.sum(axis=0) * share[:, None]
    # Whole numbers again, so that what follows adds up exactly.
    factors, _ = integers.rounded(directions.T)
    steps, squares = integers.rounded(integers.weighted_sums(factors, sampled))
    points = integers.products(rows, steps) / np.sqrt(np.where(squares > 0, squares, 1.0))
    return np.asarray(points - np.einsum("i,ij->j", share, points[some]))


def map_of(
    rows: IntegerRows,
    weights: NDArray[np.float64],
    outside: NDArray[np.bool_],
    *,
    known: Known | None = None,
) -> NDArray[np.float64]:
    """Return a place for each row: how far it stands off the crowd, and where it is within it.

    Both are in deviations of the crowd. Off the crowd is the direction of those `outside`; without any,
    it is the main direction of all.

    >>> rows = np.random.default_rng(0).normal(scale=100, size=(40, 9)).astype(np.int16)
    >>> rows[:5, 3] += 1000
    >>> places = map_of(rows, np.ones(40), np.arange(40) < 5)
    >>> bool((places[:5, 0] > 6).all() and (places[5:, 0] < 4).all())
    True
    """
    if len(rows) < 3:
        return np.zeros((len(rows), 2))
    points = main_points(rows, weights) if known is None else known.points
    crowd = points[~outside] if (~outside).sum() > 1 else points
    centred = points - crowd.mean(axis=0)
    off = np.eye(points.shape[1])[0]
    if outside.any() and not outside.all():
        spread = np.einsum("ij,ik->jk", crowd - crowd.mean(axis=0), crowd - crowd.mean(axis=0)) / len(crowd)
        spread += np.eye(len(spread)) * 1e-3 * max(np.trace(spread) / len(spread), 1e-12)
        off = np.linalg.solve(spread, centred[outside].mean(axis=0))
    off = off / max(np.sqrt(off @ off), 1e-300)
    first = np.einsum("ij,j->i", centred, off)
    rest = centred - first[:, None] * off
    second = rest[:, int(np.argmax(np.einsum("ij,ij->j", rest, rest)))]
    places = np.stack([first, second], axis=1)
    return np.asarray(
        places / np.maximum(places[~outside].std(axis=0) if (~outside).sum() > 1 else 1.0, 1e-12)
    )


def shared_part(rows: IntegerRows, *, known: Known | None = None) -> float:
    """Return how much of a client's deviation lies in directions that others share: the median client's.

    It is small where clients differ each in its own way, and large where they differ in few ways, such as
    which classes they hold. Directions found from three quarters of the clients explain those of the fourth.

    >>> rng = np.random.default_rng(0)
    >>> own, kinds = rng.normal(scale=400, size=(40, 300)), rng.normal(scale=400, size=(40, 3))
    >>> round(shared_part(own.astype(np.int16)), 1)
    0.0
    >>> round(shared_part((kinds @ rng.normal(size=(3, 300)) + own / 2).astype(np.int16)), 1)
    0.9
    """
    products = sample_products(rows) if known is None else known.gram
    n = len(products)
    gram, explained = centred(products, np.full(n, 1 / n)), np.zeros(n)
    n_shared = min(N_SHARED, max(1, n // PER_DIRECTION))  # as many as few clients can have in common

    def explain(fold: int) -> None:
        tried = np.arange(n) % N_FOLDS == fold
        known = gram[~tried][:, ~tried]
        directions = leading_directions(known, n_shared)
        turned = np.einsum("ij,jk->ik", known, directions)
        lengths = np.einsum("ik,ik->k", directions, turned)
        along = np.einsum("ij,jk->ik", gram[tried][:, ~tried], directions)
        explained[tried] = (along**2 / np.where(lengths > 0, lengths, np.inf)).sum(axis=1)

    for_each(explain, range(N_FOLDS))
    own = np.diag(gram)
    deviates = own > 1e-10 * np.diag(products).max()  # the rest is what rounding leaves of nothing
    return float(np.median(explained[deviates] / own[deviates])) if deviates.any() else 0.0


def _sample(n: int) -> NDArray[np.intp]:
    """Return positions of those rows, evenly spread, from which directions are found."""
    return np.linspace(0, n - 1, min(n, N_FOR_DIRECTIONS)).astype(np.intp)


def centred(products: Array, share: Array) -> Array:
    """Turn products of rows into those of the rows less their mean, to which each adds its share."""
    middle = np.einsum("ij,j->i", products, share)
    return np.asarray(products - middle[:, None] - middle + np.einsum("i,i->", share, middle))
