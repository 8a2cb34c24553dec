import math

import numpy as np
import pytest

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


def test_the_chance_of_more_attackers_is_the_sum_of_the_tail():
    law = hypergeometric(100, 20, 20)
    found = chance_of_more(np.arange(21), **CIFAR)
    np.testing.assert_allclose(found, [math.fsum(law[k + 1 :]) for k in range(21)], rtol=1e-12)


def test_drawn_clients_hold_as_many_attackers_as_the_law_says():
    rng, n = np.random.default_rng(0), 50_000
    attackers = rng.permuted(np.tile(np.arange(100) < 20, (n, 1)), axis=1)[:, :20].sum(axis=1)
    for k in (3, 5, 7):
        p = chance_of_more(k, **CIFAR)
        assert abs((attackers > k).mean() - p) < 4 * np.sqrt(p * (1 - p) / n)


def test_over_rounds_is_one_minus_the_power_and_keeps_rare_ones():
    assert over_rounds(0.1, 3) == pytest.approx(1 - 0.9**3)
    assert over_rounds(1e-18, 300) == pytest.approx(3e-16)
    np.testing.assert_array_equal(over_rounds([0.0, 1.0], 5), [0, 1])
    assert over_rounds(1.0, 0) == 0


def test_a_server_that_takes_everybody_knows_its_attackers():
    rule = invariant_rule(20, tau=0.5, alpha=0.25)
    drawn = sampled_clients(rule, n_clients=20, n_malicious=4, flip=[0.1, 0.2])
    np.testing.assert_allclose(
        drawn.p_minus, one_dimension(rule, n_attackers=4, flip=[0.1, 0.2]).p_minus, rtol=1e-12
    )


def test_the_values_against_are_those_of_drawn_attackers_and_flipped_clients():
    rng, n, flip = np.random.default_rng(2), 50_000, 0.15
    attackers = rng.hypergeometric(20, 80, 20, n)
    against = attackers + rng.binomial(20 - attackers, flip)
    law = values_against(hypergeometric(100, 20, 20), flip=flip)
    share = np.bincount(against, minlength=21) / n
    assert (abs(share - law) <= 4 * np.sqrt(law * (1 - law) / n) + 1e-4).all()


def test_ten_thousand_clients_a_round_stay_stable():
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
