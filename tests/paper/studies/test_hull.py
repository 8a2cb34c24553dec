import numpy as np
import pytest

from holdfast.errors import InputError
from holdfast.paper.studies.hull import nearest_in_hull

SQUARE = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])


@pytest.mark.parametrize(
    ("point", "distance"),
    [([1.0, 0.5], 0.0), ([1.0, 1.0], 0.0), ([3.0, 1.0], 1.0), ([5.0, 6.0], 5.0), ([2.0, 2.0], 0.0)],
)
def test_the_distance_to_a_square_is_known(point, distance):
    found = nearest_in_hull(np.array(point), SQUARE)
    assert found.distance == pytest.approx(distance, abs=1e-7)
    assert found.weights.min() >= 0
    assert found.weights.sum() == pytest.approx(1)


def test_the_distance_is_exact_in_many_dimensions():
    rng = np.random.default_rng(0)
    corners = np.eye(5, 4000)
    inside = rng.dirichlet(np.ones(5)) @ corners
    away = np.zeros(4000)
    away[7] = 3.0  # no corner has this coordinate
    assert nearest_in_hull(inside, corners).distance == pytest.approx(0, abs=1e-7)
    assert nearest_in_hull(inside + away, corners).distance == pytest.approx(3)


def test_no_point_of_the_hull_is_nearer():
    rng = np.random.default_rng(1)
    for _ in range(20):
        corners, point = rng.normal(size=(5, 6)), 2 * rng.normal(size=6)
        found = nearest_in_hull(point, corners)
        tried = rng.dirichlet(np.full(5, 0.5), size=2000) @ corners
        assert found.distance <= np.linalg.norm(tried - point, axis=1).min() + 1e-12
        # The hull lies behind the plane through the nearest point: no direction into it leads nearer.
        nearest = found.weights @ corners
        assert ((corners - nearest) @ (point - nearest)).max() <= 1e-9


def test_equal_corners_are_one():
    found = nearest_in_hull(np.array([3.0, 4.0]), np.zeros((4, 2)))
    assert found.distance == pytest.approx(5)


@pytest.mark.parametrize(
    ("point", "corners"),
    [([1.0], [[1.0, 2.0]]), ([1.0], np.zeros((13, 1))), ([np.nan], [[1.0]]), ([1.0], np.zeros((0, 1)))],
)
def test_what_makes_no_hull_is_refused(point, corners):
    with pytest.raises(InputError):
        nearest_in_hull(np.array(point), np.array(corners))
