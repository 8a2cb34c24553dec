"""The laws against SciPy's, and where they must keep their digits."""

import math
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from holdfast.errors import InputError
from holdfast.theory.laws import (
    binomial,
    cantelli_flip,
    chance_of_more,
    gaussian_flip,
    hypergeometric,
    over_rounds,
    poisson_binomial,
    printed_flip,
)

#: SciPy's own binomial law overflows for chances below 1e-300.
CHANCES = st.sampled_from([0.0, 1.0]) | st.floats(1e-30, 1 - 1e-12)


@given(n=st.integers(0, 2_000), chance=CHANCES)
def test_the_binomial_law_is_scipys(n, chance):
    expected = stats.binom.pmf(np.arange(n + 1), n, chance)
    np.testing.assert_allclose(binomial(n, chance), expected, rtol=1e-9, atol=1e-290)


@given(chances=st.lists(CHANCES, min_size=1, max_size=60))
def test_the_poisson_binomial_law_is_scipys(chances):
    expected = stats.poisson_binom.pmf(np.arange(len(chances) + 1), chances)
    # SciPy transforms back from the frequency domain, and so knows no more than 16 digits of the whole.
    np.testing.assert_allclose(poisson_binomial(chances), expected, atol=1e-12)


@given(n=st.integers(0, 60), chance=CHANCES)
def test_equal_trials_make_the_poisson_binomial_law_binomial_to_the_rarest_digit(n, chance):
    np.testing.assert_allclose(poisson_binomial([chance] * n), binomial(n, chance), rtol=1e-10, atol=1e-290)


@given(data=st.data())
def test_the_hypergeometric_law_is_scipys(data):
    n_clients = data.draw(st.integers(1, 500))
    n_malicious, n_drawn = (data.draw(st.integers(0, n_clients)) for _ in range(2))
    expected = stats.hypergeom.pmf(np.arange(n_drawn + 1), n_clients, n_malicious, n_drawn)
    np.testing.assert_allclose(
        hypergeometric(n_clients, n_malicious, n_drawn), expected, rtol=1e-9, atol=1e-290
    )


@pytest.mark.parametrize("chance", [0.0, 1e-9, 0.1, 0.5, 1 - 1e-9, 1.0])
def test_ten_thousand_trials_are_counted_by_both_laws(chance):
    expected = stats.binom.pmf(np.arange(10_001), 10_000, chance)
    np.testing.assert_allclose(binomial(10_000, chance), expected, rtol=1e-8, atol=1e-290)
    np.testing.assert_allclose(poisson_binomial(np.full(10_000, chance)), expected, rtol=1e-8, atol=1e-290)


def test_ten_thousand_drawn_of_a_million_follow_the_hypergeometric_law():
    expected = stats.hypergeom.pmf(np.arange(10_001), 1_000_000, 200_000, 10_000)
    np.testing.assert_allclose(hypergeometric(1_000_000, 200_000, 10_000), expected, rtol=1e-7, atol=1e-290)


def test_a_rare_tail_of_ten_thousand_keeps_its_digits():
    n, first = 10_000, 2_000
    # Whole numbers, so that nothing can cancel: p = 1/10. Each later term is smaller by 4/9 at least.
    exact = sum(Fraction(math.comb(n, k) * 9 ** (n - k), 10**n) for k in range(first, first + 60))
    assert 0 < exact < 1e-190
    assert binomial(n, 0.1)[first:].sum() == pytest.approx(float(exact), rel=1e-9)


def test_the_binomial_law_takes_arrays_of_any_shape():
    laws = binomial(3, [[0.1, 0.2], [0.3, 0.4]])
    assert laws.shape == (2, 2, 4)
    np.testing.assert_array_equal(laws[1, 0], binomial(3, 0.3))


@given(data=st.data())
def test_the_chance_of_more_attackers_is_the_tail_of_scipys_law(data):
    n_clients = data.draw(st.integers(1, 300))
    n_malicious = data.draw(st.integers(0, n_clients))
    n_per_round = data.draw(st.integers(0, n_clients))
    tolerated = np.arange(n_per_round + 1)
    found = chance_of_more(tolerated, n_clients=n_clients, n_malicious=n_malicious, n_per_round=n_per_round)
    expected = stats.hypergeom.sf(tolerated, n_clients, n_malicious, n_per_round)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-15)


@given(chance=st.floats(0, 1, allow_subnormal=False), n_rounds=st.integers(1, 10_000))
def test_over_rounds_is_the_chance_of_a_first_success_in_scipys_beta_function(chance, n_rounds):
    expected = special.betainc(1, n_rounds, chance)
    np.testing.assert_allclose(over_rounds(chance, n_rounds), expected, rtol=1e-11)


def test_nothing_happens_in_no_round():
    assert over_rounds(1.0, 0) == 0


@given(mean=st.floats(-30, 30), noise=st.floats(0.01, 100))
def test_gaussian_noise_flips_what_scipys_normal_law_has_beyond_nought(mean, noise):
    expected = stats.norm.sf(abs(mean), scale=noise)
    np.testing.assert_allclose(gaussian_flip(mean, noise), expected, rtol=1e-9, atol=1e-290)


@given(
    values=st.lists(st.floats(-1e3, 1e3), min_size=2, max_size=20),
    weights=st.lists(st.floats(0.01, 1), min_size=20, max_size=20),
)
def test_no_noise_of_finite_support_flips_more_often_than_cantelli_allows(values, weights):
    x, chances = np.array(values), np.array(weights[: len(values)])
    chances /= chances.sum()
    mean = chances @ x
    noise = np.sqrt(chances @ (x - mean) ** 2)
    if noise < 1e-6 or abs(mean) < 1e-6:
        return
    flipped = chances[x * np.sign(mean) <= 0].sum()
    assert flipped <= cantelli_flip(mean, noise) + 1e-9


@given(mean=st.floats(0.1, 10), noise=st.floats(0.1, 10))
def test_cantellis_bound_is_attained_by_a_law_of_two_points(mean, noise):
    chance = cantelli_flip(mean, noise)
    points, law = np.array([0.0, mean + noise**2 / mean]), np.array([chance, 1 - chance])
    np.testing.assert_allclose(law @ points, mean, rtol=1e-6)
    np.testing.assert_allclose(np.sqrt(law @ (points - mean) ** 2), noise, rtol=1e-6)


def test_the_printed_line_can_lie_below_the_truth():
    flatness, mean, noise = 4.0, 0.1, 1.0
    assert mean <= flatness
    assert printed_flip(flatness, noise) < gaussian_flip(mean, noise)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: binomial(3, 1.2), "chance must be finite and of at least 0, at most 1; got 1.2"),
        (lambda: poisson_binomial([[0.1]]), r"one number per trial, in one row; got shape \(1, 1\)"),
        (lambda: poisson_binomial([0.1, np.nan]), "chances must be finite .* got nan"),
        (lambda: hypergeometric(10, 11, 2), "n_malicious must be a whole number from 0 to 10; got 11"),
        (lambda: hypergeometric(10, 1, 20), "n_per_round must be a whole number from 0 to 10; got 20"),
        (
            lambda: chance_of_more(21, n_clients=100, n_malicious=20, n_per_round=20),
            "n_tolerated must be .* at most 20; got 21",
        ),
        (lambda: over_rounds(1.5, 3), "chance must be .* got 1.5"),
        (lambda: over_rounds(0.5, -3), "n_rounds must be .* got -3"),
        (lambda: gaussian_flip(1.0, 0.0), "noise must be finite and above 0; got 0"),
        (lambda: printed_flip(-1.0, 1.0), "flatness must be finite and above 0; got -1"),
    ],
)
def test_what_is_no_law_is_refused(call, says):
    with pytest.raises(InputError, match=says):
        call()
