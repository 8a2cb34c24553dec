import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from holdfast.errors import InputError
from holdfast.theory import attack_loss_floor, convergence, printed_convergence

from .golden import GOLDEN

WALK = {"n_rounds": 20, "distance": 1.0, "shortest": 0.1, "longest": 0.2}


@pytest.mark.parametrize("case", GOLDEN["convergence"], ids=lambda case: f"T={case['T']}")
def test_printed_and_corrected_are_the_golden_ones(case):
    at = {
        "p_minus": case["p_minus"],
        "p_plus": case["p_plus"],
        "n_rounds": case["T"],
        "distance": case["c"],
        "shortest": case["eta_lo"],
        "longest": case["eta_hi"],
    }
    assert printed_convergence(**at) == pytest.approx(case["printed"], rel=1e-10)
    assert convergence(**at) == pytest.approx(case["corrected"], rel=1e-10)


@given(
    n_rounds=st.integers(1, 40),
    p_minus=st.floats(0.01, 0.99),
    wrong=st.floats(0, 1),
    n_apart=st.integers(0, 30),
    ratio=st.integers(1, 4),
)
def test_the_corrected_chance_is_that_of_scipys_multinomial_walk(n_rounds, p_minus, wrong, n_apart, ratio):
    p_plus = wrong * (1 - p_minus)
    found = convergence(
        p_minus, p_plus, n_rounds=n_rounds, distance=n_apart / 10, shortest=0.1, longest=ratio / 10
    )
    law = stats.multinomial(n_rounds, [p_minus, p_plus, max(0.0, 1 - p_minus - p_plus)])
    arrived = [
        [honest, misled, n_rounds - honest - misled]
        for honest in range(n_rounds + 1)
        for misled in range(n_rounds - honest + 1)
        if honest - ratio * misled >= n_apart
    ]
    assert found == pytest.approx(law.pmf(arrived).sum() if arrived else 0.0, abs=1e-9)


def test_both_take_arrays_and_the_corrected_one_falls_with_p_plus():
    p_plus = np.array([0.0, 0.1, 0.3])
    found = convergence(0.7, p_plus, **WALK)
    assert found.shape == (3,)
    assert (np.diff(found) < 0).all()


def test_the_printed_value_errs_to_both_sides():
    p_plus = np.array([0.0, 0.1])
    error = printed_convergence(0.7, p_plus, **WALK) - convergence(0.7, p_plus, **WALK)
    assert error[0] < -0.1
    assert error[1] > 0.1


def test_a_sure_walk_arrives_and_a_short_one_never():
    assert convergence(1.0, 0.0, **WALK) == pytest.approx(1)
    assert convergence(1.0, 0.0, **WALK | {"n_rounds": 9}) == 0


def test_the_attack_loss_floor_never_falls_below_zero():
    found = attack_loss_floor(2.0, flatness=[0.1, 1.0], diameter=1.0, dim=4, longest=0.5)
    np.testing.assert_allclose(found, [1.8, 0.0])


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: convergence(2.0, 0.0, **WALK), "p_minus must be .* got 2"),
        (lambda: convergence(0.7, 0.4, **WALK), r"p_minus \+ p_plus must be at most 1; got 1.1"),
        (
            lambda: convergence(0.7, 0.1, **WALK | {"shortest": 0.3}),
            "shortest must be .* at most 0.2; got 0.3",
        ),
        (lambda: convergence(0.7, 0.1, **WALK | {"n_rounds": 0}), "n_rounds must be .* got 0"),
        (
            lambda: attack_loss_floor(-1, flatness=1, diameter=1, dim=1, longest=1),
            "loss_at_minimum .* got -1",
        ),
    ],
)
def test_bad_input_is_refused(call, says):
    with pytest.raises(InputError, match=says):
        call()
