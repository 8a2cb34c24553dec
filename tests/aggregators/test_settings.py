import numpy as np
import pytest

from holdfast import InputError
from holdfast._support.counting import check_whole, trim_count, votes_needed
from holdfast.aggregators.settings import (
    WITHIN_RANGE,
    check_positive,
    mask_notes,
    shares,
    trim_guarantee,
    weight_notes,
)


@pytest.mark.parametrize("alpha", [-0.1, 0.5, 0.6, 1, np.nan, np.inf])
def test_an_alpha_outside_its_range_is_refused_with_the_range(alpha):
    with pytest.raises(InputError, match=r"alpha.* must be in \[0, 0.5\), such as 0.25; got"):
        trim_count(alpha, 20)


@pytest.mark.parametrize("tau", [-0.1, 1.1, np.nan])
def test_a_tau_outside_its_range_is_refused_with_the_range(tau):
    with pytest.raises(InputError, match=r"tau.* must be in \[0, 1\], such as 0.6; got"):
        votes_needed(tau, 20)


@pytest.mark.parametrize("value", ["0.2", None, True])
def test_what_is_not_a_number_is_no_fraction(value):
    with pytest.raises(InputError, match="alpha must be a number"):
        trim_count(value, 20)


def test_the_median_is_offered_to_who_asks_for_half():
    with pytest.raises(InputError, match="for the median use the rule of that name"):
        trim_count(0.5, 20)


@pytest.mark.parametrize("n", range(1, 60))
def test_at_least_one_value_is_left_and_strict_needs_more_votes(n):
    for alpha in (0, 0.1, 0.25, 0.49):
        assert n - 2 * trim_count(alpha, n) >= 1
    for tau in (0, 0.2, 0.5, 0.6, 1.0):
        assert votes_needed(tau, n) <= votes_needed(tau, n, strict=True) <= votes_needed(tau, n) + 1


def test_a_mask_that_does_nothing_or_stops_everything_is_pointed_out():
    assert "not tied" in mask_notes(3, 1, 0.5)[0]
    assert "not tied" in mask_notes(4, 2, 0.5)[0]
    assert "more than all 4 votes" in mask_notes(4, 5, 0.0)[0]
    assert "almost nothing is learned" in mask_notes(20, 12, 0.001)[0]
    assert "hardly does anything" in mask_notes(20, 12, 0.999)[0]
    assert mask_notes(20, 12, 0.4) == ()
    assert mask_notes(20, 0, 1.0) == ()


def test_trimming_says_what_it_covers():
    promise = {"promise": WITHIN_RANGE}
    assert trim_guarantee(0.25, 20) == {"covered": True, "tolerates": 5, "notes": (), **promise}
    assert not trim_guarantee(0.0, 20)["covered"]
    assert "nothing is trimmed" in trim_guarantee(0.25, 2)["notes"][0]
    assert "only 1 can be" in trim_guarantee(0.45, 4)["notes"][0]


def test_shares_add_up_even_for_extreme_counts():
    assert shares([10, 30], 2).tolist() == [0.25, 0.75]
    assert shares([1e308, 1e308], 2).tolist() == [0.5, 0.5]
    assert shares([0, 0], 2).tolist() == [0.5, 0.5]
    assert shares(None, 4).sum() == 1


def test_a_client_that_claims_most_examples_is_pointed_out():
    assert "one client claims 90% of all examples" in weight_notes(np.array([0.9, 0.05, 0.05]))[0]
    assert weight_notes(np.array([0.5, 0.5])) == weight_notes(np.array([1.0])) == ()


@pytest.mark.parametrize("weights", [["a", "b"], [1, -1], [1, np.nan], [1, np.inf], [1, 2, 3], [[1, 2]]])
def test_weights_that_make_no_sense_are_refused(weights):
    with pytest.raises(InputError, match="weights must"):
        shares(weights, 2)


@pytest.mark.parametrize("value", [-1, 1.0, "2", True, None])
def test_counts_are_whole_numbers(value):
    with pytest.raises(InputError, match="n_malicious must be a whole number of at least 0; got"):
        check_whole("n_malicious", value, at_least=0)


@pytest.mark.parametrize("value", [0, -1.0, np.nan, np.inf, "2", True, None])
def test_lengths_are_positive(value):
    with pytest.raises(InputError, match="max_norm must be a finite number above 0; got"):
        check_positive("max_norm", value)
