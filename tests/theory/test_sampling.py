import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import special, stats

from holdfast.errors import InputError
from holdfast.theory import (
    chance_of_more,
    hypergeometric,
    invariant_rule,
    one_dimension,
    over_rounds,
    sampled_clients,
    values_against,
)

CIFAR = {"n_clients": 100, "n_malicious": 20, "n_per_round": 20}


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


def test_a_server_that_takes_everybody_knows_its_attackers():
    rule = invariant_rule(20, tau=0.5, alpha=0.25)
    drawn = sampled_clients(rule, n_clients=20, n_malicious=4, flip=[0.1, 0.2])
    np.testing.assert_allclose(
        drawn.p_minus, one_dimension(rule, n_attackers=4, flip=[0.1, 0.2]).p_minus, rtol=1e-12
    )


@given(
    n=st.integers(1, 40),
    n_malicious=st.integers(0, 40),
    flip=st.sampled_from([0.0, 1.0]) | st.floats(1e-30, 1 - 1e-12),
)
def test_the_values_against_are_drawn_attackers_and_flipped_clients(n, n_malicious, flip):
    counts = np.arange(n + 1)
    drawn = stats.hypergeom.pmf(counts, 100, n_malicious, n)
    expected = sum(
        drawn[attackers] * stats.binom.pmf(counts - attackers, n - attackers, flip) for attackers in counts
    )
    found = values_against(hypergeometric(100, n_malicious, n), flip=flip)
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-290)


def test_ten_thousand_clients_per_round_stay_stable():
    rule = invariant_rule(10_000, tau=0.5, alpha=0.25)
    found = sampled_clients(rule, n_clients=100_000, n_malicious=20_000, flip=0.05)
    assert found.benign + found.contested + found.zeroed + found.malicious == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: chance_of_more(21, **CIFAR), "n_tolerated must be .* at most 20; got 21"),
        (lambda: over_rounds(1.5, 3), "chance must be .* got 1.5"),
        (lambda: over_rounds(0.5, -3), "n_rounds must be .* got -3"),
    ],
)
def test_bad_input_is_refused(call, says):
    with pytest.raises(InputError, match=says):
        call()
