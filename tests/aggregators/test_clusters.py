import numpy as np
import pytest

from holdfast.aggregators.clusters import closest_majority, k_means, n_groups, principal_points

from ..naive_filters import hdbscan


def distances(points):
    return np.sqrt(((points[:, None] - points[None]) ** 2).sum(axis=2))


@pytest.mark.parametrize("seed", range(40))
def test_the_closest_majority_is_what_full_hdbscan_finds(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(2, 16))
    points = rng.normal(size=(n, 2))
    if seed % 2:
        points = np.round(points)  # many ties, and points that are the same
    points[: n // 3] += rng.choice([0, 3, 30])
    far = distances(points)
    expected = hdbscan(far, min_cluster_size=n // 2 + 1, min_samples=1) == 0
    np.testing.assert_array_equal(closest_majority(far), expected)


def test_a_majority_does_not_depend_on_the_order_of_points():
    rng = np.random.default_rng(0)
    far = distances(np.round(rng.normal(size=(11, 2)) * 2))
    found = closest_majority(far)
    for _ in range(5):
        order = rng.permutation(11)
        np.testing.assert_array_equal(closest_majority(far[np.ix_(order, order)]), found[order])


def test_k_means_finds_separate_groups():
    rng = np.random.default_rng(1)
    truth = rng.integers(3, size=40)
    points = rng.normal(size=(40, 2)) + 30 * truth[:, None]
    groups = k_means(points, 3, np.random.default_rng(0))
    assert len({(a, b) for a, b in zip(groups.tolist(), truth.tolist(), strict=True)}) == 3


def test_k_means_reaches_the_least_spread_there_is_on_a_line():
    values = np.sort(np.random.default_rng(2).normal(size=12))

    def spread(cut):
        return sum(((part - part.mean()) ** 2).sum() for part in (values[:cut], values[cut:]))

    groups = k_means(values[:, None], 2, np.random.default_rng(0))
    assert (groups == groups[0]).sum() == min(range(1, 12), key=spread)


@pytest.mark.parametrize("k", [1, 2, 4])
def test_k_means_survives_fewer_points_than_groups(k):
    assert k_means(np.ones((2, 1)), k, np.random.default_rng(0)).tolist() == [0, 0]


@pytest.mark.parametrize(("n_true", "gap"), [(1, 0), (2, 50), (3, 50)])
def test_the_gap_statistic_counts_groups(n_true, gap):
    rng = np.random.default_rng(n_true)
    points = rng.normal(size=(30, 2)) + gap * np.array([[0, 0], [1, 0], [0, 1]])[np.arange(30) % n_true]
    assert n_groups(points, np.random.default_rng(0)) == n_true


def test_the_gap_statistic_survives_clones_and_few_points():
    for points, expected in ((np.ones((6, 2)), 1), (np.repeat([[0.0], [1.0]], 5, axis=0), 2), (np.eye(1), 1)):
        assert n_groups(points, np.random.default_rng(0)) == expected
    assert n_groups(1e150 * np.repeat([[0.0], [1.0]], 5, axis=0), np.random.default_rng(0)) == 2


def test_principal_points_keep_the_distances_of_points_in_a_plane():
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(7, 2)) @ rng.normal(size=(2, 40)) + rng.normal(size=40)
    np.testing.assert_allclose(distances(principal_points(rows @ rows.T, 2)), distances(rows), atol=1e-10)
    same = principal_points(np.full((4, 4), 7.7), 2)
    np.testing.assert_array_equal(same, np.zeros((4, 2)))
