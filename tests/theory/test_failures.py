import numpy as np
import pytest

from holdfast import fltrust
from holdfast.errors import InputError
from holdfast.theory import (
    FLTRUST_THRESHOLD,
    fltrust_advantage,
    fltrust_best_advantage,
    fltrust_best_angle,
    fltrust_trust,
    gradient_gap,
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


def test_no_angle_beats_the_best_one():
    theta = np.linspace(0, np.pi / 2, 41)[:, np.newaxis]
    tried = fltrust_advantage(theta, np.linspace(0, np.pi / 2, 2001))
    np.testing.assert_allclose(tried.max(axis=1), fltrust_best_advantage(theta[:, 0]), atol=1e-6)


@pytest.mark.parametrize("theta", np.array([0.3, 0.38, 0.395, 0.42, 0.49]) * np.pi)
def test_the_rule_itself_is_turned_where_the_advantage_is_positive(theta):
    attack = fltrust_best_angle(theta)
    benign = np.array([-np.cos(theta), np.sin(theta)])
    attacker = np.array([np.cos(attack), np.sin(attack)])
    aggregate = fltrust(np.stack([benign, attacker]), reference=benign)
    assert (aggregate.update[0] > 0) == (fltrust_best_advantage(theta) > 0)
    assert benign @ attacker == pytest.approx(fltrust_trust(theta))


def test_the_trigger_bound_is_tight_where_it_should_be():
    # g(x) = 2x on {0, 1} and {0.5, 2}: the Wasserstein distance is 0.75, the mean gradients are 1.5 apart.
    assert gradient_gap(lipschitz=2.0, distance=0.75) == abs(2 * np.mean([0, 1]) - 2 * np.mean([0.5, 2]))
    np.testing.assert_allclose(inversion_flatness(2.0, lipschitz=2.0, distance=[0, 0.75, 3]), [2, 0.5, 0])


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
        (lambda: gradient_gap(lipschitz=-1, distance=1), "lipschitz .* got -1"),
    ],
)
def test_bad_input_is_refused(call, says):
    with pytest.raises(InputError, match=says):
        call()
