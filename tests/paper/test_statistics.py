"""Spreads and pairs against SciPy's tests, and where those have no answer."""

import json
import math

import numpy as np
import pytest
from scipy import stats

from holdfast.errors import InputError
from holdfast.paper.statistics import MOST_FLIPPED, paired, spread


def numbers(n, seed=0, around=0.5):
    return np.random.default_rng(seed).normal(around, 0.05, n).tolist()


@pytest.mark.parametrize("n", [2, 3, 5, 10])
def test_the_interval_is_students(n):
    values = numbers(n, seed=n)
    found = spread(values)
    expected = stats.t.interval(0.95, n - 1, loc=np.mean(values), scale=stats.sem(values))
    assert found["interval"] == pytest.approx(expected, rel=1e-10)
    assert found["margin"] == pytest.approx((expected[1] - expected[0]) / 2, rel=1e-10)
    assert (found["low"], found["high"], found["values"]) == (min(values), max(values), values)
    assert found["variance"] == pytest.approx(np.var(values, ddof=1))
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_the_interval_covers_the_truth_as_often_as_it_says():
    drawn = np.random.default_rng(0).normal(0.5, 0.1, (2000, 3))
    covered = [low <= 0.5 <= high for low, high in (spread(row.tolist())["interval"] for row in drawn)]
    assert np.mean(covered) == pytest.approx(0.95, abs=0.015)


def test_an_interval_ends_where_no_mean_can_lie():
    found = spread([0.9, 1.0, 1.0])
    assert found["interval"] == [found["mean"] - found["margin"], 1.0]
    assert found["mean"] + found["margin"] > 1
    assert spread([0, 1, 5], most=math.inf)["interval"][0] == 0
    assert spread([0, 1, 5], most=math.inf)["interval"][1] > 5
    assert paired([1.0, 1.0, 1.0], [0.0, 0.1, 0.0])["interval"][1] == 1.0


def test_one_seed_has_no_interval_and_a_missing_number_no_spread():
    assert spread([0.5])["interval"] is spread([0.5])["margin"] is None
    assert spread([]) is spread([0.5, None]) is paired([0.5, None], [0.5, 0.5]) is paired([], []) is None
    alone = paired([0.5], [0.25])
    assert (alone["mean"], alone["interval"], alone["excludes_zero"]) == (0.25, None, False)
    assert (alone["p"], alone["p_flips"]) == (None, 1.0)


@pytest.mark.parametrize("n", [2, 3, 6, 12])
def test_pairs_are_tested_as_scipy_does(n):
    own, baseline = numbers(n, seed=1, around=0.55), numbers(n, seed=2)
    found, expected = paired(own, baseline), stats.ttest_rel(own, baseline)
    assert found["p"] == pytest.approx(expected.pvalue, rel=1e-10)
    assert found["interval"] == pytest.approx(expected.confidence_interval(0.95), rel=1e-10)
    assert found["excludes_zero"] == (expected.pvalue < 0.05)
    flipped = stats.permutation_test(
        (own, baseline),
        lambda a, b, axis: np.mean(a - b, axis=axis),
        permutation_type="samples",
        n_resamples=np.inf,
        vectorized=True,
    )
    assert found["p_flips"] == pytest.approx(flipped.pvalue)


@pytest.mark.parametrize(("n", "least"), [(2, 0.5), (3, 0.25), (6, 0.03125)])
def test_few_seeds_never_give_a_small_chance_by_flips(n, least):
    assert paired([0.9 + 0.01 * place for place in range(n)], [0.1] * n)["p_flips"] == least


def test_more_pairs_than_can_be_flipped_have_the_t_test_alone():
    n = MOST_FLIPPED + 1
    found = paired(numbers(n, seed=1), numbers(n, seed=2))
    assert found["p_flips"] is None
    assert 0 < found["p"] < 1
    assert paired(numbers(n - 1, seed=1), numbers(n - 1, seed=2))["p_flips"] > 0


def test_seeds_that_agree_exactly_differ_surely_or_not_at_all():
    same = paired([0.5, 0.25, 1.0], [0.5, 0.25, 1.0])
    assert (same["interval"], same["excludes_zero"], same["p"], same["p_flips"]) == ([0, 0], False, 1.0, 1.0)
    apart = paired([0.0, 0.0, 0.0], [1.0, 1.0, 1.0])
    assert (apart["interval"], apart["excludes_zero"], apart["p"]) == ([-1, -1], True, 0.0)
    assert apart["p_flips"] == 0.25


def test_pairs_have_two_numbers_each():
    with pytest.raises(InputError, match="one number each per seed; got 2 and 3"):
        paired([0.1, 0.2], [0.1, 0.2, 0.3])
