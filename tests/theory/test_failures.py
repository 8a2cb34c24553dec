import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import optimize, stats

from holdfast import fltrust
from holdfast.errors import InputError
from holdfast.theory import (
    FLTRUST_THRESHOLD,
    fltrust_advantage,
    fltrust_best_advantage,
    fltrust_best_angle,
    inversion_flatness,
    mimicry_cost,
    overwrite_threshold,
)

from .golden import GOLDEN


@pytest.mark.parametrize("case", GOLDEN["fltrust"], ids=lambda case: f"{case['theta_over_pi']}pi")
def test_the_closed_form_is_the_golden_maximum(case):
    theta = case["theta_over_pi"] * np.pi
    assert fltrust_best_advantage(theta) == pytest.approx(case["max_value"], abs=1e-12)
    assert fltrust_best_angle(theta) / np.pi == pytest.approx(case["argmax_over_pi"], abs=1e-12)
    assert fltrust_advantage(theta, fltrust_best_angle(theta)) == pytest.approx(case["max_value"], abs=1e-12)


def test_the_threshold_is_the_golden_root():
    assert pytest.approx(GOLDEN["fltrust_root"]["theta"], rel=1e-14) == FLTRUST_THRESHOLD
    assert fltrust_best_advantage(FLTRUST_THRESHOLD) == pytest.approx(0, abs=1e-15)


@given(theta=st.floats(0, np.pi / 2))
def test_scipy_finds_no_better_angle(theta):
    found = optimize.minimize_scalar(
        lambda angle: -fltrust_advantage(theta, angle), bounds=(0, np.pi / 2), method="bounded"
    )
    assert fltrust_best_advantage(theta) == pytest.approx(-found.fun, abs=1e-9)
    assert fltrust_best_angle(theta) == pytest.approx(found.x, abs=1e-3)


@pytest.mark.parametrize("theta", np.array([0.3, 0.38, 0.395, 0.42, 0.49]) * np.pi)
def test_the_rule_itself_is_turned_where_the_advantage_is_positive(theta):
    attack = fltrust_best_angle(theta)
    benign = np.array([-np.cos(theta), np.sin(theta)])
    attacker = np.array([np.cos(attack), np.sin(attack)])
    aggregate = fltrust(np.stack([benign, attacker]), reference=benign)
    assert (aggregate.update[0] > 0) == (fltrust_best_advantage(theta) > 0)
    assert benign @ attacker == pytest.approx(np.sin(theta / 2))  # the trust that docs/theory.md states


SAMPLES = st.lists(st.floats(-100, 100), min_size=1, max_size=20)


@given(true=SAMPLES, inverted=SAMPLES, lipschitz=st.floats(0, 10))
def test_a_gradient_falls_by_no_more_than_scipys_wasserstein_distance_allows(true, inverted, lipschitz):
    distance = stats.wasserstein_distance(true, inverted)
    for gradient in (np.sin, np.abs, np.negative):  # each 1-Lipschitz
        on_true, on_inverted = (abs(lipschitz * gradient(own).mean()) for own in (true, inverted))
        assert on_true >= inversion_flatness(on_inverted, lipschitz=lipschitz, distance=distance) - 1e-9


def test_the_trigger_bound_is_attained_by_a_linear_gradient():
    true, inverted = np.array([0.0, 1.0]), np.array([0.5, 2.0])
    distance = stats.wasserstein_distance(true, inverted)
    on_true, on_inverted = (2 * true).mean(), (2 * inverted).mean()
    assert inversion_flatness(on_inverted, lipschitz=2.0, distance=distance) == on_true
    np.testing.assert_allclose(inversion_flatness(2.0, lipschitz=2.0, distance=[0, distance, 3]), [2, 0.5, 0])


def test_an_attacker_above_the_threshold_turns_the_mean_and_below_it_may_not():
    flat, others, own = 0.01, 950.0, 50.0
    needed = overwrite_threshold(flat, own_examples=own, other_examples=others)
    assert others * -flat + own * (needed * 1.001) > 0 > others * -flat + own * (needed * 0.999)


def test_mimicry_costs_the_product():
    assert mimicry_cost(benign_gradient=0.5, flatness=[0.1, 0.2]) == pytest.approx([0.05, 0.1])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (
            lambda: fltrust_best_advantage(2.0),
            "theta must be finite and of at least 0, at most 1.5708; got 2",
        ),
        (lambda: fltrust_advantage(1.0, -1.0), "theta_attacker .* got -1"),
        (
            lambda: overwrite_threshold(1.0, own_examples=0, other_examples=9),
            "own_examples .* above 0; got 0",
        ),
        (lambda: inversion_flatness(1, lipschitz=-1, distance=1), "lipschitz .* got -1"),
    ],
)
def test_bad_input_is_refused(call, says):
    with pytest.raises(InputError, match=says):
        call()
