"""The search for two crowds against slow twins: one alternation per start, all splits, LAPACK."""

import math
from itertools import product

import numpy as np
import pytest
from numba import njit

from holdfast.kernels import _directions, _splits
from holdfast.kernels.splits import SHARES, best_split, leading_directions


def score(projection, mask):
    """Return by how many nats per point two crowds explain numbers on a line better than one."""
    share = mask.mean()
    between = share * (1 - share) * (projection[mask].mean() - projection[~mask].mean()) ** 2
    entropy = -share * np.log(share) - (1 - share) * np.log(1 - share)
    return -0.5 * np.log(max(1 - between / projection.var(), 1e-12)) - entropy


def whitened(points):
    centred = points - points.mean(axis=0)
    factor = np.linalg.cholesky(np.linalg.inv(centred.T @ centred / len(points)))
    return centred @ factor


def improved(white, mask, least):
    """Return the score and the split that alternating ends at: direction of the means, best cut along it."""
    best = -np.inf
    while True:
        projection = white @ (white[mask].mean(axis=0) - white[~mask].mean(axis=0))
        order = np.argsort(projection)
        found = -np.inf, None
        for cut in range(least, len(white) - least + 1):
            low = np.zeros(len(white), bool)
            low[order[:cut]] = True
            found = max(found, (score(projection, low), cut))
        if found[0] <= best + 1e-9:
            return best, mask
        best, cut = found
        mask = np.zeros(len(white), bool)
        mask[order[:cut] if 2 * cut <= len(white) else order[cut:]] = True


def searched(points, least):
    """Return the best of all that alternating finds, from each point with its nearest."""
    white = whitened(points)
    ends = []
    for point, share in product(range(len(white)), SHARES):
        nearest = np.argsort(((white - white[point]) ** 2).sum(axis=1), kind="stable")
        start = np.zeros(len(white), bool)
        start[nearest[: max(least, round(share * len(white)))]] = True
        ends.append(improved(white, start, least))
    return max(ends, key=lambda end: end[0])


def cloud(n, k, seed, n_apart=0):
    rng = np.random.default_rng([n, k, seed])
    points = rng.normal(size=(n, k)) @ rng.normal(size=(k, k))
    points[:n_apart] += 6 * rng.normal(size=k)
    return points


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize(("n", "k", "n_apart"), [(14, 2, 0), (25, 5, 4), (40, 8, 0), (61, 3, 20)])
def test_the_best_split_is_that_of_the_twin(n, k, n_apart, seed):
    points = cloud(n, k, seed, n_apart)
    split, (expected, mask) = best_split(points, least=3), searched(points, 3)
    assert split.score == pytest.approx(expected, abs=1e-7)
    np.testing.assert_array_equal(split.outside, mask)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [1, 3])
def test_no_other_split_is_better_on_the_line_that_was_found(k, seed):
    points = cloud(11, k, seed)
    split = best_split(points, least=2)
    white = whitened(points)
    line = white @ (white[split.outside].mean(axis=0) - white[~split.outside].mean(axis=0))
    every = (np.array(mask) for mask in product([False, True], repeat=11))
    scores = [score(line, mask) for mask in every if 2 <= mask.sum() <= 9]
    assert split.score == pytest.approx(max(scores), abs=1e-9)


@pytest.mark.parametrize("n", [20, 100, 400, 2500])
def test_a_crowd_apart_is_found_whole_and_alone(n):
    points = cloud(n, 4, 0)
    apart = np.random.default_rng(n).permutation(n)[: n // 6]
    points[apart] += np.linalg.cholesky(np.cov(points.T)) @ np.array([0, 9, 0, 0])
    assert set(np.flatnonzero(best_split(points, least=3).outside)) == set(apart)


@pytest.mark.parametrize("seed", range(5))
def test_the_side_that_is_named_is_the_smaller_one_and_not_too_small(seed):
    split = best_split(cloud(31, 4, seed), least=4)
    assert 4 <= split.outside.sum() <= 15


def test_turning_stretching_and_moving_the_points_changes_nobody():
    points, rng = cloud(50, 5, 1, n_apart=9), np.random.default_rng(1)
    split = best_split(points, least=3)
    turned = best_split(1e6 * points @ rng.normal(size=(5, 5)) + 1e4, least=3)
    np.testing.assert_array_equal(turned.outside, split.outside)
    assert turned.score == pytest.approx(split.score, abs=1e-6)


def test_the_order_of_the_points_does_not_matter():
    points = cloud(60, 5, 2, n_apart=9)
    order = np.random.default_rng(0).permutation(60)
    split, reordered = best_split(points, least=3), best_split(points[order], least=3)
    np.testing.assert_array_equal(reordered.outside, split.outside[order])


@pytest.mark.parametrize("n", [60, 2600])
def test_neither_does_the_number_of_threads(n, monkeypatch):
    found = []
    for threads in ("1", "2", "4"):
        monkeypatch.setenv("HOLDFAST_THREADS", threads)
        split = best_split(cloud(n, 6, 3), least=3)
        found.append((split.score, split.outside.tobytes()))
    assert len(set(found)) == 1


@pytest.mark.parametrize("points", [np.zeros((12, 3)), np.ones((12, 1)) * 1e300, cloud(5, 2, 0)])
def test_points_in_one_place_or_too_few_for_two_sides_are_one_crowd(points):
    assert best_split(points, least=3).score == -np.inf


def test_directions_without_variance_are_left_out():
    points = cloud(40, 3, 0, n_apart=6)
    flat = np.hstack([points, np.full((40, 2), 7.0)])
    assert best_split(flat, least=3).score == pytest.approx(best_split(points, least=3).score)


@pytest.mark.parametrize(("n", "k"), [(10, 2), (64, 5), (131, 12)])
def test_leading_directions_span_those_of_lapack(n, k):
    rng = np.random.default_rng(n)
    basis = np.linalg.qr(rng.normal(size=(n, n)))[0]
    values = np.concatenate([np.linspace(9, 4, k), rng.random(n - k)])
    gram = basis * values @ basis.T
    found = leading_directions(gram, k)
    np.testing.assert_allclose(found.T @ found, np.eye(k), atol=1e-9)
    cosines = np.linalg.svd(np.linalg.eigh(gram)[1][:, -k:].T @ found, compute_uv=False)
    np.testing.assert_allclose(cosines, 1, atol=1e-9)


def slowly_turned(gram, basis, n_steps):
    """Return the basis after so many steps, every sum added up in order."""
    for _ in range(n_steps):
        columns = [np.array([added(row * column) for row in gram]) for column in basis.T]
        longest = 0.0
        for j, column in enumerate(columns):
            for other in columns[:j]:
                column -= added(other * column) * other
            length = np.sqrt(added(column * column))
            longest = max(longest, length)
            column[:] = column / length if length > 1e-10 * longest else 0.0
        basis = np.stack(columns, axis=1)
    return basis


@pytest.mark.parametrize(
    ("n", "k", "rank"), [(5, 3, 5), (10, 6, 3), (33, 12, 33), (22, 16, 22), (40, 19, 40)]
)
def test_directions_are_those_of_the_twin_in_every_digit(n, k, rank):
    rng = np.random.default_rng(n)
    rows, basis = rng.normal(size=(n, rank)), rng.normal(size=(n, k))
    turned, gram = basis.copy(), rows @ rows.T
    _directions.leading_directions(gram, turned, 4)
    np.testing.assert_array_equal(turned, slowly_turned(gram, basis, 4))


def test_there_are_no_more_directions_than_a_matrix_has():
    assert leading_directions(np.eye(3), 7).shape == (3, 3)
    assert not leading_directions(np.zeros((5, 5)), 2).any()
    one = leading_directions(np.outer([3.0, 4.0, 0.0], [3.0, 4.0, 0.0]), 1)
    np.testing.assert_allclose(np.abs(one.ravel()), [0.6, 0.8, 0], atol=1e-12)


@pytest.mark.parametrize("rank", [1, 3, 7])
def test_no_direction_is_made_of_what_rounding_leaves(rank):
    rows = np.random.default_rng(rank).integers(-9, 9, size=(40, rank)).astype(float)
    found = leading_directions(rows @ rows.T, 12)
    np.testing.assert_allclose(found.T @ found, np.diag([1.0] * rank + [0.0] * (12 - rank)), atol=1e-9)


@njit
def argsort(values):
    """Return the order of values; of equal ones, that of the sort which compiled code uses."""
    return np.argsort(values)


def added(numbers):
    """Return the sum, added up in order: Python's and NumPy's own sums have an order of theirs."""
    return float(np.cumsum(numbers)[-1])


def slowly_refined(points, mask, least):
    """Return the same split and score, digit by digit: sums in order, one sort, a logarithm per cut."""
    n, found = len(points), -np.inf
    total = np.array([added(column) for column in points.T])
    for _ in range(30):
        count = int(mask.sum())
        if count in (0, n):
            break
        inside = np.array([added(column) for column in points[mask].T])
        along = inside / count - (total - inside) / (n - count)
        line = np.array([added(along * point) for point in points])
        mean = added(line) / n
        spread = added((line - mean) ** 2)
        if spread <= 0:
            break
        order, below, best, cut = argsort(line), 0.0, -np.inf, 0
        for first in range(1, n):
            below, share = below + (float(line[order[first - 1]]) - mean), first / n
            entropy = -share * math.log(share) - (1 - share) * math.log(1 - share)
            between = below * below * (1 / first + 1 / (n - first)) / spread
            score = -0.5 * math.log(max(1 - between, 1e-12)) - entropy
            if least <= first <= n - least and score > best:
                best, cut = score, first
        if best <= found + 1e-9:
            break
        found, mask = best, np.zeros(n, bool)
        mask[order[:cut] if 2 * cut <= n else order[cut:]] = True
    return found, mask


@pytest.mark.parametrize("n", [51, 300], ids=["compared", "dealt out"])
@pytest.mark.parametrize("kind", ["distinct", "tied", "equal", "skewed"])
def test_no_short_cut_changes_a_digit_of_a_split(kind, n):
    rng = np.random.default_rng(n)
    points = {
        "distinct": rng.normal(size=(n, 5)),
        "tied": rng.integers(0, 3, (n, 3)) * 1.0,
        "equal": np.ones((n, 3)),
        "skewed": rng.normal(size=(n, 2)) ** 15,
    }[kind]
    masks = rng.random((20, n)) < 0.3
    masks[0], masks[1] = True, False
    expected = [slowly_refined(points, mask, 3) for mask in masks]
    refined, scores = masks.copy(), np.empty(20)
    _splits.refined_splits(points, refined, 3, scores)
    np.testing.assert_array_equal(scores, [score for score, _ in expected])
    np.testing.assert_array_equal(refined, [mask for _, mask in expected])
