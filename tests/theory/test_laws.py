import math
import time
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast.errors import InputError
from holdfast.theory import binomial, hypergeometric, poisson_binomial


@given(n=st.integers(0, 60), p=st.floats(0, 1))
def test_the_binomial_law_is_the_textbook_formula(n, p):
    textbook = [math.comb(n, k) * p**k * (1 - p) ** (n - k) for k in range(n + 1)]
    np.testing.assert_allclose(binomial(n, p), textbook, rtol=1e-11, atol=1e-300)


@pytest.mark.parametrize("p", [0.0, 1e-9, 0.1, 0.5, 1 - 1e-9, 1.0])
def test_the_binomial_law_sums_to_one_for_ten_thousand(p):
    law = binomial(10_000, p)
    assert np.isfinite(law).all()
    assert law.sum() == pytest.approx(1, abs=1e-9)
    assert law @ np.arange(10_001) == pytest.approx(10_000 * p, rel=1e-9)


def test_a_rare_tail_keeps_its_digits_for_ten_thousand():
    n, first = 10_000, 2_000
    # Whole numbers, so that nothing can cancel: p = 1/10. Each later term is smaller by 4/9 at least.
    exact = sum(Fraction(math.comb(n, k) * 9 ** (n - k), 10**n) for k in range(first, first + 60))
    assert 0 < exact < 1e-190
    assert binomial(n, 0.1)[first:].sum() == pytest.approx(float(exact), rel=1e-9)


def test_the_binomial_law_takes_arrays_of_any_shape():
    laws = binomial(3, [[0.1, 0.2], [0.3, 0.4]])
    assert laws.shape == (2, 2, 4)
    np.testing.assert_array_equal(laws[1, 0], binomial(3, 0.3))


@given(n=st.integers(0, 40), p=st.floats(0, 1))
def test_equal_clients_make_the_poisson_binomial_law_binomial(n, p):
    np.testing.assert_allclose(poisson_binomial([p] * n), binomial(n, p), rtol=1e-10, atol=1e-300)


def test_the_poisson_binomial_law_is_what_all_combinations_give():
    chances = [0.1, 0.5, 0.9, 0.25]
    expected = np.zeros(5)
    for flips in np.ndindex(2, 2, 2, 2):
        expected[sum(flips)] += math.prod(p if hit else 1 - p for p, hit in zip(chances, flips, strict=True))
    np.testing.assert_allclose(poisson_binomial(chances), expected, rtol=1e-14)


def test_the_poisson_binomial_law_of_ten_thousand_is_stable_and_quick():
    start = time.perf_counter()
    chances = np.random.default_rng(0).uniform(0, 0.3, 10_000)
    law = poisson_binomial(chances)
    assert law.sum() == pytest.approx(1, abs=1e-9)
    assert law @ np.arange(10_001) == pytest.approx(chances.sum(), rel=1e-9)
    assert time.perf_counter() - start < 10


@pytest.mark.parametrize(
    ("n_clients", "n_malicious", "n_drawn"), [(100, 20, 20), (15, 2, 15), (9, 8, 5), (4, 0, 2)]
)
def test_the_hypergeometric_law_is_the_textbook_formula(n_clients, n_malicious, n_drawn):
    textbook = [
        math.comb(n_malicious, a)
        * math.comb(n_clients - n_malicious, n_drawn - a)
        / math.comb(n_clients, n_drawn)
        for a in range(n_drawn + 1)
    ]
    np.testing.assert_allclose(hypergeometric(n_clients, n_malicious, n_drawn), textbook, rtol=1e-11)


def test_the_hypergeometric_law_is_stable_for_large_populations():
    law = hypergeometric(1_000_000, 200_000, 10_000)
    assert law.sum() == pytest.approx(1, abs=1e-8)
    assert law @ np.arange(10_001) == pytest.approx(2_000, rel=1e-8)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: binomial(-1, 0.1), "n must be a whole number from 0 on; got -1"),
        (lambda: binomial(3, 1.2), "chance must be finite and of at least 0, at most 1; got 1.2"),
        (lambda: poisson_binomial([[0.1]]), r"one number a trial, in one row; got shape \(1, 1\)"),
        (lambda: poisson_binomial([0.1, np.nan]), "chances must be finite .* got nan"),
        (lambda: hypergeometric(10, 11, 2), "n_malicious must be a whole number from 0 to 10; got 11"),
        (lambda: hypergeometric(10, 1, 20), "n_drawn must be a whole number from 0 to 10; got 20"),
    ],
)
def test_what_is_no_law_is_refused(call, says):
    with pytest.raises(InputError, match=says):
        call()
