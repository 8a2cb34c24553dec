import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from holdfast.errors import InputError
from holdfast.theory import (
    SignRule,
    invariant_rule,
    median_rule,
    one_dimension,
    outcome_by_flips,
    printed_p_minus,
    printed_p_plus_invariant,
    printed_p_plus_trimmed_mean,
    trimmed_mean_rule,
    unequal_clients,
)

from .golden import GOLDEN

SETTING = GOLDEN["single_dimension"]
N, N_ATTACKERS, ALPHA, TAU = (SETTING[name] for name in ("N", "N_malicious", "alpha", "tau"))
COUNTS = {"n_clients": N, "n_attackers": N_ATTACKERS}


@given(
    n=st.integers(1, 200),
    tau=st.sampled_from([0.0, 0.2, 0.5, 0.6, 1.0]),
    alpha=st.sampled_from([0.0, 0.1, 0.25, 0.45]),
    flip=st.floats(0, 1, allow_subnormal=False).filter(lambda p: p == 0 or p > 1e-30),
    data=st.data(),
)
def test_the_exact_probabilities_are_tails_of_scipys_binomial_law(n, tau, alpha, flip, data):
    n_attackers = data.draw(st.integers(0, n))
    rule = invariant_rule(n, tau=tau, alpha=alpha)
    found = one_dimension(rule, n_attackers=n_attackers, flip=flip)
    flips = stats.binom(n - n_attackers, flip)
    # As docs/theory.md has it: k trimmed at each end, and at most m against a coordinate that passes.
    k, m = rule.n_trimmed, (n - rule.n_votes) // 2
    p_minus = flips.cdf(min(k, m) - n_attackers)
    passes = flips.cdf(m - n_attackers) + flips.sf(n - m - n_attackers - 1) if 2 * m < n else 1.0
    assert found.p_minus == pytest.approx(p_minus, abs=1e-10)
    assert found.p_plus == pytest.approx(passes - p_minus, abs=1e-10)
    assert found.zeroed == pytest.approx(1 - passes, abs=1e-10)


@pytest.mark.parametrize("row", SETTING["rows"], ids=lambda row: f"p={row['p']}")
def test_the_exact_probabilities_are_the_golden_ones(row):
    at = {"n_attackers": N_ATTACKERS, "flip": row["p"]}
    wide = one_dimension(invariant_rule(N, tau=TAU, alpha=ALPHA), **at)
    strict = one_dimension(invariant_rule(N, tau=TAU, alpha=ALPHA, strict=True), **at)
    trimmed = one_dimension(trimmed_mean_rule(N, alpha=ALPHA), **at)
    assert wide.p_minus == pytest.approx(row["exact_ge"]["p_minus"], rel=1e-11)
    assert wide.p_plus == pytest.approx(row["exact_ge"]["p_plus_invariant"], rel=1e-11)
    assert trimmed.p_plus == pytest.approx(row["exact_ge"]["p_plus_trim"], rel=1e-11)
    assert trimmed.p_minus == pytest.approx(wide.p_minus, rel=1e-11)
    assert strict.p_minus == pytest.approx(row["exact_gt"]["p_minus"], rel=1e-11)
    assert strict.p_plus == pytest.approx(row["exact_gt"]["p_plus_invariant"], rel=1e-11)


@pytest.mark.parametrize(
    "case", GOLDEN["outcome_by_flips"], ids=lambda c: f"{c['task']}-{'gt' if c['strict'] else 'ge'}"
)
def test_the_chances_of_the_outcomes_are_the_golden_ones(case):
    rule = invariant_rule(case["N"], tau=case["tau"], alpha=0.25, strict=case["strict"])
    for p, expected in case["prob"].items():
        found = one_dimension(rule, n_attackers=case["N_malicious"], flip=float(p))
        assert found.benign == pytest.approx(expected["benign"], rel=1e-5)
        assert found.contested == pytest.approx(expected["contested"], rel=1e-5)
        assert found.zeroed == pytest.approx(expected["zero"], rel=1e-5)
        assert found.malicious == pytest.approx(expected["malicious"], rel=1e-5)


def test_the_printed_sums_are_the_golden_ones():
    p = [row["p"] for row in SETTING["rows"]]
    printed = {
        name: [row["printed"][name] for row in SETTING["rows"]] for name in SETTING["rows"][0]["printed"]
    }
    np.testing.assert_allclose(printed_p_minus(p, **COUNTS, alpha=0.25), printed["p_minus"], rtol=1e-12)
    np.testing.assert_allclose(
        printed_p_plus_invariant(p, **COUNTS, tau=0.5), printed["p_plus_invariant"], rtol=1e-12
    )
    np.testing.assert_allclose(
        printed_p_plus_trimmed_mean(p, **COUNTS, alpha=0.25), printed["p_plus_trim"], rtol=1e-12
    )


def test_the_printed_p_minus_is_no_probability():
    assert printed_p_minus(0.0, **COUNTS, alpha=0.25) == 2


def test_a_mean_has_no_chance_against_an_attacker():
    chances = one_dimension(SignRule(N), n_attackers=N_ATTACKERS, flip=[0.0, 0.1, 0.3])
    np.testing.assert_array_equal(chances.p_minus, 0)
    np.testing.assert_allclose(chances.p_plus, 1, rtol=1e-12)


def test_the_median_is_the_trimmed_mean_that_trims_all_it_can():
    at = {"n_attackers": 4, "flip": 0.2}
    assert (
        one_dimension(median_rule(20), **at).p_plus
        == one_dimension(trimmed_mean_rule(20, alpha=0.45), **at).p_plus
    )


def test_attackers_and_flips_broadcast():
    rule = invariant_rule(20, tau=0.5, alpha=0.25)
    table = one_dimension(rule, n_attackers=[[0], [4], [6]], flip=[0.1, 0.2])
    assert table.benign.shape == (3, 2)
    assert table.benign[1, 1] == one_dimension(rule, n_attackers=4, flip=0.2).benign
    np.testing.assert_array_equal(table.benign[2], 0)


def test_chances_sum_to_one_and_stay_finite_for_ten_thousand_clients():
    rule = invariant_rule(10_000, tau=0.5, alpha=0.25)
    found = one_dimension(rule, n_attackers=2_000, flip=[0.0, 0.01, 0.06, 0.0625, 0.3, 1.0])
    total = found.benign + found.contested + found.zeroed + found.malicious
    np.testing.assert_allclose(total, 1, atol=1e-9)
    assert (np.diff(found.benign) <= 1e-11).all()
    assert found.benign.max() <= 1
    assert found.malicious[-1] == 1


def test_equal_clients_are_a_case_of_unequal_ones():
    rule = invariant_rule(15, tau=0.2, alpha=0.25)
    equal, unequal = one_dimension(rule, n_attackers=2, flip=0.2), unequal_clients(rule, flips=[0.2] * 13)
    for name in ("benign", "contested", "zeroed", "malicious"):
        assert getattr(unequal, name) == pytest.approx(getattr(equal, name), rel=1e-12)


def test_the_largest_flip_for_all_is_the_pessimists_answer():
    rule = invariant_rule(20, tau=0.5, alpha=0.25)
    flips = np.linspace(0.01, 0.2, 16)
    pessimist = one_dimension(rule, n_attackers=4, flip=flips.max())
    exact = unequal_clients(rule, flips=flips)
    assert exact.p_minus > pessimist.p_minus
    assert exact.p_plus < pessimist.p_plus


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: one_dimension(SignRule(5), n_attackers=6, flip=0.1), "n_attackers .* at most 5; got 6"),
        (lambda: one_dimension(SignRule(5), n_attackers=1, flip=-0.1), "flip must be .* got -0.1"),
        (
            lambda: one_dimension(SignRule(5), n_attackers=1.5, flip=0.1),
            "whole numbers from 0 to 5; got 1.5",
        ),
        (
            lambda: unequal_clients(SignRule(2), flips=[0.1] * 3),
            "one chance per honest client, at most 2; got 3",
        ),
        (
            lambda: printed_p_minus(0.1, n_clients=20, n_attackers=6, alpha=0.25),
            "n_attackers .* 0 to 5; got 6",
        ),
        (
            lambda: printed_p_plus_invariant(0.1, n_clients=20, n_attackers=10, tau=0.5),
            "n_attackers .* from 0 to 9; got 10",
        ),
        (lambda: printed_p_plus_invariant(0.1, n_clients=20, n_attackers=4, tau=2), "tau.* got 2"),
        (
            lambda: printed_p_plus_trimmed_mean(1.1, n_clients=20, n_attackers=4, alpha=0.25),
            "flip must be .* got 1.1",
        ),
    ],
)
def test_bad_input_is_refused(call, says):
    with pytest.raises(InputError, match=says):
        call()


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
    assert set(outcome_by_flips(invariant_rule(20, tau=1.0, alpha=0.25, strict=True), n_attackers=0)) == {
        "zeroed"
    }


def test_the_sides_are_mirror_images():
    for n in range(1, 12):
        for n_trimmed in range((n - 1) // 2 + 1):
            for n_votes in range(n + 1):
                found = outcome_by_flips(SignRule(n, n_trimmed, n_votes), n_attackers=0)
                swapped = np.select([found == "benign", found == "malicious"], ["malicious", "benign"], found)
                assert (swapped == found[::-1]).all()


def test_the_median_of_an_even_number_can_be_contested_and_of_an_odd_one_not():
    assert (outcome_by_flips(median_rule(20), n_attackers=0) == "contested").sum() == 1
    assert (outcome_by_flips(median_rule(15), n_attackers=0) == "contested").sum() == 0


def test_one_attacker_contests_every_coordinate_of_a_mean():
    assert set(outcome_by_flips(SignRule(5), n_attackers=1)[:-1]) == {"contested"}


@pytest.mark.parametrize(
    ("call", "says"),
    [
        (lambda: SignRule(20, 10), "n_trimmed must be a whole number from 0 to 9; got 10"),
        (lambda: SignRule(0), "n_clients must be a whole number of at least 1; got 0"),
        (lambda: SignRule(5, 1, -1), "n_votes must be a whole number of at least 0; got -1"),
        (lambda: invariant_rule(20, tau=1.5, alpha=0.25), r"tau.* must be in \[0, 1\].* got 1.5"),
        (lambda: invariant_rule(20, tau=0.5, alpha=0.5), r"alpha.* must be in \[0, 0.5\).* got 0.5"),
        (lambda: outcome_by_flips(SignRule(5), n_attackers=6), "n_attackers .* from 0 to 5; got 6"),
    ],
)
def test_what_is_no_rule_is_refused(call, says):
    with pytest.raises(InputError, match=says):
        call()
