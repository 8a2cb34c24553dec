import json

import numpy as np
import pytest

from holdfast import Aggregate, Diagnostics, defend, invariant, krum, krum_trimmed_mean, median, trimmed_mean
from holdfast.aggregators import weighted_median, weighted_trimmed_mean
from holdfast.core.diagnostics import Dropped
from holdfast.updates import rows_of


def round_with_an_attacker():
    rng = np.random.default_rng(0)
    updates = rng.normal(size=(10, 500)) + 1
    updates[9] = -30
    return updates


def test_the_attacker_can_be_read_off():
    said = defend(round_with_an_attacker(), invariant, explain=True).diagnostics
    assert said.trimmed_share[9] == 1
    assert said.trimmed_share[:9].max() < 0.8
    assert said.opposed_share.argmax() == 9
    assert said.cosines.argmin() == 9
    assert said.norms.argmax() == 9


def test_shares_are_those_of_a_count_by_hand():
    updates = np.array([[1.0, 5.0], [2.0, -5.0], [3.0, 5.0], [4.0, 4.0], [-9.0, 5.0]])
    said = invariant(rows_of(updates, explain=True), tau=0.6, alpha=0.2).diagnostics
    assert said.trimmed_share.tolist() == [
        0,
        0.5,
        0,
        0.5,
        0.5,
    ]  # in the second, all who tie with a kept 5 count
    assert said.opposed_share.tolist() == [0, 0.5, 0, 0, 0.5]
    assert said.consistency.tolist() == [0, 0, 0, 2, 0, 0]
    assert said.kept_fraction == 1


def test_rows_left_out_by_a_selection_are_measured_too():
    said = defend(round_with_an_attacker(), krum_trimmed_mean(n_malicious=2), explain=True).diagnostics
    assert said.trimmed_share[9] == 1
    assert len(said.norms) == 10


def test_everything_can_be_stored_as_json():
    updates = round_with_an_attacker()
    updates[0, 0] = np.nan
    result = defend(updates, invariant, clients=[("id", i) for i in range(10)], explain=True)
    stored = json.loads(json.dumps(result.diagnostics.as_dict(), allow_nan=False))
    assert stored["dropped"] == [{"client": ["id", 0], "reason": "holds NaN, infinite or overflowing values"}]
    assert len(stored["norms"]) == 9
    assert stored["rule"] == "invariant"


def test_it_prints_what_an_operator_needs():
    text = str(defend(round_with_an_attacker(), invariant, explain=True).diagnostics)
    assert "10 clients aggregated" in text
    assert "guarantee  if at most 3 of 10 clients are malicious, every coordinate is zero or stays" in text
    assert "within the range of the honest clients' values; this does not exclude a backdoor" in text
    assert "kept" in text
    assert "agreement of signs" in text
    attacker = next(line for line in text.splitlines() if line.split()[0] == "9")
    assert "100.0%" in attacker


def test_every_state_of_it_prints():
    assert "guarantee  none in this round" in str(Diagnostics(rule="krum", clients=(0,), covered=False))
    assert "its theorem applies; this does not" in str(Diagnostics(rule="krum", clients=(0,), covered=True))
    text = str(
        Diagnostics(rule="krum", clients=(), aggregated=False, dropped=(Dropped(1, "late"),), notes=("why",))
    )
    assert "krum: nothing aggregated, 1 dropped" in text
    assert "client 1: late" in text
    assert "why" in text
    empty = Diagnostics(rule="krum", clients=(0,), consistency=np.zeros(2, dtype=np.int64))
    assert "agreement" not in str(empty)


def test_a_reason_in_a_strangers_words_is_one_printable_line():
    drop = Dropped("eve\x1b[2J", "wrong type: \nclient ann: fine\ud800" + "n" * 900_000)
    assert str(drop).startswith(r"client eve\x1b[2J: wrong type: \nclient ann: fine\ud800nnn")
    assert str(drop).isprintable()
    assert len(drop.reason) < 300


MEASURES = ("norms", "cosines", "opposed_share", "trimmed_share", "consistency")


def own_median(updates):
    return Aggregate(np.median(np.asarray(updates), axis=0))


@pytest.mark.parametrize("n", [9, 10])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_rule_of_ones_own_is_measured_to_the_bit_as_ours_is(n, dtype):
    base = [np.ones((40, 50), dtype), np.zeros(70, dtype)]
    noise = np.random.default_rng(3).normal(size=(n, 2070)).astype(dtype)
    models = [[base[0] + row[:2000].reshape(40, 50), base[1] + row[2000:]] for row in noise]
    ours, own = (defend(models, rule, base=base, explain=True).diagnostics for rule in (median, own_median))
    assert own.rule == "own_median"
    for name in MEASURES:
        np.testing.assert_array_equal(getattr(own, name), getattr(ours, name), err_msg=name)
    assert own.kept_fraction == 1


def test_a_masked_trimmed_mean_of_ones_own_is_recognised_and_one_that_trims_nothing_is_not():
    updates = round_with_an_attacker().astype(np.float32)
    updates[9] = -1e30  # a giant that is trimmed leaves no trace of rounding

    def own_invariant(updates):
        matrix = np.asarray(updates)
        middle = np.sort(matrix, axis=0)[3:-3].mean(axis=0)
        return Aggregate(middle * (np.abs(np.sign(matrix).sum(axis=0)) >= 6))

    ours = defend(updates, invariant(tau=0.6, alpha=0.25), explain=True).diagnostics
    own = defend(updates, own_invariant, explain=True).diagnostics
    np.testing.assert_array_equal(own.trimmed_share, ours.trimmed_share)
    assert own.kept_fraction == ours.kept_fraction < 1
    for name in ("norms", "opposed_share", "consistency"):
        np.testing.assert_array_equal(getattr(own, name), getattr(ours, name))

    def largest(updates):
        return Aggregate(np.asarray(updates).max(axis=0))

    def mean(updates):
        return Aggregate(np.asarray(updates).mean(axis=0))

    for rule in (largest, mean):
        assert defend(updates, rule, explain=True).diagnostics.trimmed_share is None


def test_what_a_rule_says_itself_stands_and_the_rest_is_measured():
    def frank(updates):
        told = Diagnostics(rule="frank", clients=(), norms=np.arange(10.0), notes=("as told",))
        return Aggregate(np.asarray(updates)[0], diagnostics=told)

    said = defend(round_with_an_attacker(), frank, explain=True).diagnostics
    assert said.norms.tolist() == list(range(10))
    assert said.notes == ("as told",)
    assert said.cosines[0] == pytest.approx(1)
    assert defend(round_with_an_attacker(), own_median).diagnostics.norms is None


def test_a_rule_of_ones_own_is_explained_where_lengths_overflow_and_where_nobody_moves():
    huge = np.vstack([round_with_an_attacker(), np.full(500, 1e200)])
    said = defend(huge, own_median, explain=True).diagnostics
    assert len(said.norms) == 11
    json.dumps(said.as_dict(), allow_nan=False)
    still = defend(np.zeros((5, 4)), own_median, explain=True).diagnostics
    assert still.kept_fraction == 0
    assert still.cosines.tolist() == [0] * 5
    assert still.trimmed_share is None


def test_rows_that_a_rule_never_looked_at_are_dropped_all_the_same():
    updates = round_with_an_attacker()
    updates[4, 0] = np.nan
    result = defend(updates, lambda updates: Aggregate(np.ones(500)), explain=True)
    assert [drop.client for drop in result.diagnostics.dropped] == [4]
    assert len(result.diagnostics.norms) == 9


def test_a_rule_of_ones_own_whose_update_is_not_finite_leaves_the_model_explained_or_not():
    result = defend(round_with_an_attacker(), lambda updates: Aggregate(np.full(500, np.nan)), explain=True)
    assert not result.diagnostics.aggregated


@pytest.mark.parametrize(
    "rule",
    [median, trimmed_mean(alpha=0.3), invariant(alpha=0.3), weighted_median, weighted_trimmed_mean, krum],
    ids=str,
)
def test_what_a_rule_guarantees_is_true_of_its_update(rule):
    honest = np.random.default_rng(0).normal(1.0, 1.0, size=(8, 50))
    rule = krum(n_malicious=2) if rule is krum else rule
    said = decided(rule, honest)
    for far in (-1e9, 1e9, 3.0):
        updates = np.vstack([honest, np.full((said.tolerates, 50), far)])
        told = decided(rule, updates)
        assert told.tolerates >= said.tolerates
        assert told.covered
        update = call(rule, updates)
        inside = (update >= honest.min(axis=0)) & (update <= honest.max(axis=0))
        if "within the range" in told.promise:
            assert (inside | ((update == 0) & ("zero" in told.promise))).all()
        else:
            assert update @ honest.mean(axis=0) > 0


def decided(rule, updates):
    return defend(updates, rule).diagnostics


def call(rule, updates):
    return defend(updates, rule).update
