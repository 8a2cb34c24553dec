import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from holdfast import theory
from holdfast._support.counting import largest_minority, trim_count, votes_needed
from holdfast.errors import InputError
from holdfast.theory import Assessment, Federation


@given(
    n=st.integers(3, 40), n_malicious=st.integers(1, 40), flip=st.just(0.0) | st.floats(1e-30, 0.5 - 1e-12)
)
def test_the_values_against_are_drawn_attackers_and_flipped_clients(n, n_malicious, flip):
    counts = np.arange(n + 1)
    drawn = stats.hypergeom.pmf(counts, 100, n_malicious, n)
    expected = sum(
        drawn[attackers] * stats.binom.pmf(counts - attackers, n - attackers, flip) for attackers in counts
    )
    found = Federation(100, n_malicious, n, flip=flip).against
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-290)


@pytest.mark.parametrize("n", [3, 7, 15, 20, 33, 100])
def test_the_roundest_settings_have_the_counts_they_are_made_for(n):
    federation = Federation(2 * n, 1, n)
    for n_trimmed in range((n - 1) // 2 + 1):
        for n_against in range((n - 1) // 2 + 1):
            found = Assessment.from_counts(federation, n_trimmed=n_trimmed, n_against=n_against)
            assert (found.n_trimmed, found.n_against) == (n_trimmed, n_against)
            assert trim_count(found.alpha, n) == n_trimmed
            assert largest_minority(votes_needed(found.tau, n), n) == n_against


def test_the_same_is_so_for_ten_thousand():
    federation = Federation(20_000, 1, 10_000)
    for n_trimmed, n_against in ((4_999, 1), (3_333, 2_857), (1, 4_999), (0, 0)):
        found = Assessment.from_counts(federation, n_trimmed=n_trimmed, n_against=n_against)
        assert (found.n_trimmed, found.n_against) == (n_trimmed, n_against)


def test_with_all_clients_in_every_round_the_theorem_itself_comes_out():
    found = Assessment.of(Federation(20, 4, 20, flip=0.1), tau=0.5, alpha=0.25)
    chances = theory.one_dimension(theory.invariant_rule(20, tau=0.5, alpha=0.25), n_attackers=4, flip=0.1)
    assert found.learns == pytest.approx(float(chances.p_minus), rel=1e-12)
    assert found.misled == pytest.approx(float(chances.p_plus), rel=1e-12)
    assert found.more_than_trimmed == 0


def test_the_papers_settings_are_exceeded_in_every_sixth_round():
    found = Assessment.of(Federation(100, 20, 20), tau=0.2, alpha=0.25)
    assert found.more_than_trimmed == pytest.approx(0.1727, abs=1e-4)
    assert found.more_than_trimmed_ever == pytest.approx(1)
    assert not found.direction_is_sure


@pytest.mark.parametrize(
    ("numbers", "says"),
    [
        ((10, 5, 10), "no setting helps: 5 of 10 clients are malicious, .* at most 4 malicious"),
        ((10, 6, 10), "no setting helps: 6 of 10"),
        ((10, 11, 10), "n_malicious must be a whole number from 1 to 10; got 11"),
        ((10, 0, 10), "n_malicious must be a whole number from 1 to 10; got 0"),
        ((10, 2, 11), "n_per_round must be a whole number from 3 to 10; got 11"),
        ((10, 2, 2), "n_per_round must be a whole number from 3 to 10; got 2"),
        ((2, 1, 2), "n_clients must be a whole number of at least 3; got 2"),
        ((10, 2, 10, 0), "n_rounds must be a whole number of at least 1; got 0"),
        ((10, 2, 10, 5, 0.5), "no setting helps: flip must be below 0.5.* got 0.5"),
        ((10, 2, 10, 5, 1.5), "flip must be finite and of at least 0, at most 1; got 1.5"),
    ],
)
def test_where_no_setting_helps_that_is_said(numbers, says):
    with pytest.raises(InputError, match=says):
        Federation(*numbers)
