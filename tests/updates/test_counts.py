"""A sample count is a number that a client makes up: what it can buy, and what it leaves alone."""

import numpy as np
import pytest

from holdfast import defend, fedavg, rfa, rlr, weak_dp
from holdfast.aggregators import cached, weighted_trimmed_mean
from holdfast.lab.data.split import dirichlet
from holdfast.updates.counts import balanced_counts, capped_counts, examples_held, largest_count
from holdfast.updates.layout import Unfit


def type_name(value):
    return type(value).__name__  # of some values, not even str() can be taken


@pytest.mark.parametrize(
    ("count", "said"),
    [
        (float("nan"), "nan"),
        (float("-inf"), "-inf"),
        (-1, "-1"),
        (10**400, "1000000"),
        (10**9000, "<int>"),
        (1 + 2j, "complex"),
        ("7\x1b[2J", "str"),
        (np.float32(1e9), "1e+09"),
    ],
    ids=type_name,
)
def test_an_impossible_count_is_told_of_in_few_characters(count, said):
    with pytest.raises(Unfit) as refused:
        examples_held(count)
    shown = str(refused.value).removeprefix("impossible sample count: ").partition(", not")[0]
    assert shown.startswith(said)
    assert len(shown) <= 30


@pytest.mark.parametrize("n", [3, 4, 5, 7, 8, 12, 20, 41])
def test_a_quarter_of_the_clients_never_owns_the_geometric_median(n):
    n_liars = max(1, n // 4)
    rows = np.random.default_rng(n).normal(0.1, 0.05, size=(n, 50))
    honest = rows[n_liars:].mean(axis=0)
    rows[:n_liars] = -50
    counts = [100_000_000] * n_liars + [100] * (n - n_liars)
    result = defend(rows, rfa, weights=counts)
    assert np.abs(result.update - honest).max() < 1
    assert result.diagnostics.covered
    assert result.diagnostics.tolerates >= n_liars
    assert "of client 0" in result.diagnostics.notes[-1]


@pytest.mark.parametrize("rule", [rlr(threshold=0), weak_dp(max_norm=1e9, sigma=0.0)], ids=str)
@pytest.mark.parametrize("n", [10, 20, 50])
def test_a_made_up_count_buys_at_most_three_times_an_equal_share(rule, n):
    rows = np.zeros((n, 3))
    rows[0] = 1
    counts = [100_000_000] + [100] * (n - 1)
    result = defend(rows, rule, weights=counts, rng=np.random.default_rng(0))
    np.testing.assert_allclose(result.update, 3 / n)


@pytest.mark.parametrize("seed", range(200))
def test_the_cap_is_the_largest_that_keeps_clients_below_their_shares(seed):
    rng = np.random.default_rng(seed)
    n = int(rng.integers(3, 41))
    counts = np.exp(rng.normal(scale=rng.choice([0.1, 1.0, 3.0]), size=n))
    counts[rng.random(n) < 0.2] = 1e8

    def is_fair(limit):
        counted = sorted(np.minimum(counts, limit), reverse=True)
        quarter, largest = sum(counted[: max(1, n // 4)]) / sum(counted), counted[0] / sum(counted)
        return quarter <= 0.45 + 1e-9 and largest <= 3 / n + 1e-9

    limit = largest_count(counts)
    assert is_fair(limit)
    assert limit == np.inf or not is_fair(1.001 * limit)


def test_uneven_counts_of_honest_clients_hardly_change():
    for seed in range(20):
        rng = np.random.default_rng(seed)
        shards = dirichlet(np.arange(20_000) % 10, alpha=0.5, n_clients=100, rng=rng)
        counts = rng.choice([float(len(shard)) for shard in shards], 20, replace=False)
        assert counts.max() > 1.2 * np.median(counts)
        for cap in (capped_counts, balanced_counts):
            kept, _ = cap(counts, range(20))
            assert (kept >= 0.95 * counts).all()


def test_plain_averaging_weighs_clients_of_very_different_sizes_as_they_are():
    rows, counts = np.eye(4), [400, 100, 80, 60]
    np.testing.assert_allclose(defend(rows, fedavg, weights=counts).update, np.array(counts) / 640)
    assert defend(rows, rlr(threshold=0), weights=counts).update[0] == pytest.approx(0.45)


def test_of_one_or_two_clients_no_count_is_capped():
    assert defend(np.array([[0.0], [4.0]]), fedavg, weights=[1, 3]).update == [3.0]
    assert defend(np.array([[4.0]]), fedavg, weights=[5]).update == [4.0]


def test_clients_without_examples_are_not_counted_among_the_others():
    counts, notes = balanced_counts(np.array([0.0, 0.0, 5.0, 5.0, 100.0]), "abcde")
    np.testing.assert_allclose(counts, [0, 0, 5, 5, 90 / 11])
    assert "of client e" in notes[0]
    assert capped_counts(np.array([0.0, 0.0, 5.0, 5.0, 100.0]), "abcde")[0][-1] == 50
    for cap in (capped_counts, balanced_counts):
        assert cap(np.zeros(3), "abc")[1] == ()


def test_for_a_rule_that_trims_no_few_claim_what_it_trims():
    counts = np.full(20, 10.0)
    counts[:2] = 1e6
    limited, notes = balanced_counts(counts, range(20), withstood=0.25)
    assert limited[:2].sum() / limited.sum() == pytest.approx(0.225)
    assert "of client 0, 1" in notes[0]
    assert largest_count(np.array([5.0, 7.0, 1e8, 6.0]), withstood=0.25) == 5  # one of four has a quarter


@pytest.mark.parametrize("is_cached", [False, True])
def test_one_that_lies_about_its_count_is_trimmed_away(is_cached):
    rule = weighted_trimmed_mean(alpha=0.25)
    rows, counts = np.vstack([np.ones((9, 3)), [[1e30] * 3]]), [100] * 9 + [10**8]
    result = defend(rows, cached(rule=rule) if is_cached else rule, weights=counts, clients=range(10))
    assert np.abs(result.update).max() <= 1
