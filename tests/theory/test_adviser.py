import json

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from holdfast import defend, invariant
from holdfast.errors import InputError
from holdfast.theory import Assessment, advise

CIFAR = {"n_clients": 100, "n_malicious": 20, "n_per_round": 20, "n_rounds": 300}
TWITTER = {"n_clients": 100, "n_malicious": 10, "n_per_round": 15, "n_rounds": 300}
PHISHING = {"n_clients": 100, "n_malicious": 20, "n_per_round": 20, "n_rounds": 20}


def test_the_answer_makes_a_rule_that_is_covered():
    rule = invariant(**advise(n_clients=30, n_malicious=5).settings)
    updates = np.random.default_rng(0).normal(1, 0.5, size=(30, 50))
    updates[:5] = -1e6
    aggregate = defend(updates, rule)
    assert aggregate.diagnostics.covered
    assert aggregate.update.min() >= 0


@pytest.mark.parametrize(
    ("federation", "expected", "within_risk"),
    [
        (CIFAR, {"tau": 0.5, "alpha": 0.45}, False),
        (TWITTER, {"tau": 0.6, "alpha": 0.46}, True),
        (PHISHING, {"tau": 0.4, "alpha": 0.45}, False),
    ],
    ids=["cifar10", "twitter", "phishing"],
)
def test_the_advice_for_the_papers_three_settings_is_the_documented_one(federation, expected, within_risk):
    advice = advise(**federation)
    assert advice.settings == expected
    assert advice.within_risk is within_risk
    assert set(advice.published) == {"cifar10", "twitter", "phishing", "released_code"}


def test_one_attacker_more_than_are_trimmed_can_send_any_size_and_not_one_fewer():
    rule = invariant(tau=0.6, alpha=0.25)
    for n_attackers, bounded in ((5, True), (6, False)):
        updates = np.random.default_rng(0).uniform(1, 2, size=(20, 30))
        updates[:n_attackers] = 1e6
        assert (rule(updates).update.max() <= 2) == bounded


def test_more_clients_per_round_are_named_where_no_alpha_keeps_the_risk_and_are_enough():
    (problem,) = advise(**CIFAR).problems
    assert "17.7%" in problem
    assert "with 25 clients per round" in problem
    assert advise(**CIFAR | {"n_per_round": 25}).within_risk
    assert not advise(**CIFAR | {"n_per_round": 24}).within_risk


def test_an_odd_number_of_clients_has_a_lower_risk_than_the_even_one_above_it():
    for federation, odd in ((CIFAR, 25), (PHISHING, 19)):
        assert advise(**federation | {"n_per_round": odd}).within_risk
        assert not advise(**federation | {"n_per_round": odd + 1}).within_risk


def test_too_much_noise_is_named_where_no_tau_keeps_the_risk():
    advice = advise(n_clients=20, n_malicious=4, flip=0.3)
    assert not advice.within_risk
    assert advice.region == ()
    assert "no tau keeps the risk at 1%" in advice.problems[0]


@settings(max_examples=60, deadline=None)
@given(data=st.data())
def test_every_pair_of_the_region_keeps_what_it_promises(data):
    n_clients = data.draw(st.integers(3, 60))
    n_malicious = data.draw(st.integers(1, max(1, (n_clients - 1) // 2)))
    n_per_round = data.draw(st.integers(3, n_clients))
    flip = data.draw(st.sampled_from([0.0, 0.05, 0.2, 0.4]))
    advice = advise(
        n_clients=n_clients, n_malicious=n_malicious, n_per_round=n_per_round, flip=flip, n_rounds=50
    )
    assert advice.recommended.direction_is_sure
    if advice.within_risk:
        assert (advice.recommended.n_trimmed, advice.recommended.n_against) in advice.region
    for n_trimmed, n_against in advice.region:
        found = Assessment.from_counts(advice.federation, n_trimmed=n_trimmed, n_against=n_against)
        assert found.direction_is_sure
        assert found.more_than_trimmed_ever <= 0.01
        assert found.misled_ever <= 0.01 * (1 + 1e-9)


def test_a_pair_outside_the_region_breaks_a_promise():
    advice = advise(**TWITTER)
    for n_trimmed in range(8):
        for n_against in range(8):
            found = Assessment.from_counts(advice.federation, n_trimmed=n_trimmed, n_against=n_against)
            good = (
                found.direction_is_sure
                and found.more_than_trimmed_ever <= 0.01
                and found.misled_ever <= 0.01
                and n_against >= 2
            )
            assert good == ((n_trimmed, n_against) in advice.region)


def test_the_advice_is_plain_numbers_for_json():
    stored = json.loads(json.dumps(advise(**TWITTER).as_dict()))
    assert stored["settings"] == {"tau": 0.6, "alpha": 0.46}
    assert stored["published"]["cifar10"]["direction_is_sure"] is False
    assert stored["region"] == [{"n_trimmed": 7, "n_against": m} for m in (2, 3, 4)]


def test_a_watch_sees_more_attackers_stronger_ones_and_those_heard_more_often_sooner():
    few, many = advise(**TWITTER).rounds_until_seen, advise(**CIFAR).rounds_until_seen
    assert few > many > 100 / 20
    assert advise(**CIFAR | {"n_per_round": 50}).rounds_until_seen < many
    assert advise(**CIFAR, strength=6.0).rounds_until_seen < many
    assert advise(**CIFAR, strength=0.1).rounds_until_seen is None
    assert advise(n_clients=9, n_malicious=2).rounds_until_seen is None


@pytest.mark.slow
def test_ten_thousand_clients_per_round_are_advised():
    advice = advise(n_clients=50_000, n_malicious=10_000, n_per_round=10_000)
    assert advice.within_risk
    assert advice.recommended.learns >= 0.5


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"n_malicious": 50}, "no setting helps: 50 of 100"),
        ({"risk": 0.0}, "risk must be finite and above 0, at most 1; got 0"),
        ({"learning": 2}, "learning must be .* got 2"),
        ({"strength": 0.0}, "strength, in deviations, must be above 0; got 0"),
    ],
)
def test_impossible_requests_get_a_clear_answer(wrong, says):
    with pytest.raises(InputError, match=says):
        advise(**CIFAR | wrong)
