import numpy as np
import pytest

from holdfast.errors import InputError
from holdfast.lab.choices import build_run
from holdfast.paper.studies.separable import nearest_in_hull, separable_minima

RUN = build_run("digits", attack="edge-case", scale="smoke")


@pytest.mark.slow
def test_a_hull_is_measured_from_all_its_models():
    found = separable_minima(RUN, n_combinations=4)
    assert len(found.left_out) == len(found.honest_success) == len(found.weights) == 5
    assert len(found.mixed_success) == 4
    assert 0 < max(found.left_out) <= found.diameter
    assert found.malicious > 0
    assert sum(found.weights) == pytest.approx(1)


def test_more_honest_models_than_clients_are_refused():
    few = RUN.replace(n_clients=5, n_per_round=2, n_rounds=1)
    with pytest.raises(InputError, match="honest clients are needed"):
        separable_minima(few, n_benign=5)


@pytest.mark.parametrize("wrong", [{"n_benign": 1}, {"n_benign": 13}, {"n_combinations": 0}])
def test_settings_that_make_no_hull_are_refused(wrong):
    with pytest.raises(InputError, match=f"{next(iter(wrong))} must be a whole number"):
        separable_minima(RUN, **wrong)


SQUARE = np.array([[0.0, 0.0], [2.0, 0.0], [2.0, 2.0], [0.0, 2.0]])


@pytest.mark.parametrize(
    ("point", "distance"),
    [([1.0, 0.5], 0.0), ([1.0, 1.0], 0.0), ([3.0, 1.0], 1.0), ([5.0, 6.0], 5.0), ([2.0, 2.0], 0.0)],
)
def test_the_distance_to_a_square_is_known(point, distance):
    weights, found = nearest_in_hull(np.array(point), SQUARE)
    assert found == pytest.approx(distance, abs=1e-7)
    assert weights.min() >= 0
    assert weights.sum() == pytest.approx(1)


def test_the_distance_is_exact_in_many_dimensions():
    rng = np.random.default_rng(0)
    corners = np.eye(5, 4000)
    inside = rng.dirichlet(np.ones(5)) @ corners
    away = np.zeros(4000)
    away[7] = 3.0  # no corner has this coordinate
    assert nearest_in_hull(inside, corners)[1] == pytest.approx(0, abs=1e-7)
    assert nearest_in_hull(inside + away, corners)[1] == pytest.approx(3)


def test_no_point_of_the_hull_is_nearer():
    rng = np.random.default_rng(1)
    for _ in range(20):
        corners, point = rng.normal(size=(5, 6)), 2 * rng.normal(size=6)
        weights, distance = nearest_in_hull(point, corners)
        tried = rng.dirichlet(np.full(5, 0.5), size=2000) @ corners
        assert distance <= np.linalg.norm(tried - point, axis=1).min() + 1e-12
        # The hull lies behind the plane through the nearest point: no direction into it leads nearer.
        nearest = weights @ corners
        assert ((corners - nearest) @ (point - nearest)).max() <= 1e-9


def test_equal_corners_are_one():
    assert nearest_in_hull(np.array([3.0, 4.0]), np.zeros((4, 2)))[1] == pytest.approx(5)
