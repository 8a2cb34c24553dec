import numpy as np
import pytest

from holdfast.errors import InputError
from holdfast.theory import SignRule, invariant_rule, mean_rule, median_rule, outcome_by_flips, outcomes

from .golden import GOLDEN

GOLDEN_NAMES = {"benign": "benign", "contested": "contested", "zero": "zeroed", "malicious": "malicious"}


@pytest.mark.parametrize(
    "case", GOLDEN["outcome_by_flips"], ids=lambda c: f"{c['task']}-{'gt' if c['strict'] else 'ge'}"
)
def test_the_outcome_by_flips_is_the_golden_one(case):
    rule = invariant_rule(case["N"], tau=case["tau"], alpha=0.25, strict=case["strict"])
    assert rule.n_trimmed == case["k"]
    found = outcome_by_flips(rule, n_attackers=case["N_malicious"])
    assert {name: np.flatnonzero(found == ours).tolist() for name, ours in GOLDEN_NAMES.items()} == case[
        "flips"
    ]


def test_a_mask_above_all_votes_stops_everything():
    assert set(outcomes(invariant_rule(20, tau=1.0, alpha=0.25, strict=True))) == {"zeroed"}


def test_the_sides_are_mirror_images():
    for n in range(1, 12):
        for n_trimmed in range((n - 1) // 2 + 1):
            for n_votes in range(n + 1):
                found = outcomes(SignRule(n, n_trimmed, n_votes))
                swapped = np.select([found == "benign", found == "malicious"], ["malicious", "benign"], found)
                assert (swapped == found[::-1]).all()


def test_the_median_of_an_even_number_can_be_contested_and_of_an_odd_one_not():
    assert (outcomes(median_rule(20)) == "contested").sum() == 1
    assert (outcomes(median_rule(15)) == "contested").sum() == 0


def test_one_attacker_contests_every_coordinate_of_a_mean():
    assert set(outcome_by_flips(mean_rule(5), n_attackers=1)[:-1]) == {"contested"}


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: SignRule(20, 10), "n_trimmed must be a whole number from 0 to 9; got 10"),
        (lambda: SignRule(0), "n_clients must be a whole number from 1 on; got 0"),
        (lambda: SignRule(5, 1, -1), "n_votes must be a whole number from 0 on; got -1"),
        (lambda: invariant_rule(20, tau=1.5, alpha=0.25), r"tau.* must be in \[0, 1\].* got 1.5"),
        (lambda: invariant_rule(20, tau=0.5, alpha=0.5), r"alpha.* must be in \[0, 0.5\).* got 0.5"),
        (lambda: outcome_by_flips(mean_rule(5), n_attackers=6), "n_attackers .* from 0 to 5; got 6"),
    ],
)
def test_what_is_no_rule_is_refused(call, says):
    with pytest.raises(InputError, match=says):
        call()
