"""Every rule on the same round, on a task so small that a round takes milliseconds."""

from dataclasses import replace

import numpy as np
import pytest

from holdfast import Aggregate, aggregators
from holdfast.core import bind, rule
from holdfast.lab.attacks import value_trigger
from holdfast.lab.scenario import Defence, Run
from holdfast.lab.simulation import simulate
from holdfast.lab.training import batched_sgd
from holdfast.paper.studies import load_or_make_study, rules_on_a_round
from holdfast.paper.studies.starts import AfterRounds

from ...toy import TOY, TRIGGER, attack

RUN = Run(TOY, attack(value_trigger, features=(2,), value=TRIGGER), sampling="fixed")
RULES = (bind(aggregators.fedavg), bind(aggregators.median), bind(aggregators.fltrust))
FRESH = AfterRounds()


def test_a_probe_of_a_fresh_network_is_the_first_round_of_a_simulation_with_each_rule():
    found = rules_on_a_round(RUN, rules=RULES, start=FRESH)
    assert (found.n_clients, found.n_attackers) == (6, (3,))
    for one, own in zip(RULES, found.rules, strict=True):
        record, _ = next(simulate(RUN.replace(defence=Defence("own", one))))
        (applied,) = own.draws
        assert (own.rule, own.reason) == (one.identity, "")
        let = (applied.leak, applied.gain, applied.dose)
        assert let == pytest.approx((record.leak, record.gain, record.dose), rel=1e-5)
        shares = record.accuracy, record.attack_success
        assert (applied.accuracy, applied.attack_success) == pytest.approx(shares, rel=1e-5)


def test_clients_train_once_per_draw_and_every_rule_gets_what_they_sent():
    trained, seen = [], []

    def counting(model, params, shards):
        trained.append(len(shards))
        return batched_sgd(model, params, shards, lr=0.5)

    def looking(updates, *, clients, place=0):
        seen.append((place, tuple(clients), np.asarray(updates).copy()))
        return Aggregate(np.asarray(updates).mean(axis=0))

    rules = (bind(looking, "rule", place=1), bind(looking, "rule", place=2))
    found = rules_on_a_round(RUN.replace(train=counting), rules=rules, start=FRESH, draws=2)
    assert trained == [3, 3, 3, 3]  # the honest clients of a draw, and its attackers
    assert [place for place, _, _ in seen] == [1, 2, 1, 2]
    np.testing.assert_array_equal(seen[0][2], seen[1][2])
    np.testing.assert_array_equal(seen[2][2], seen[3][2])
    assert seen[0][1] == seen[1][1] != seen[2][1]
    assert [len(own.draws) for own in found.rules] == [2, 2]


def test_a_rule_that_cannot_run_is_told_of_and_stops_no_other():
    def broken(updates):
        raise ZeroDivisionError("of my own\nmaking")

    def endless(updates):
        return Aggregate(np.full(np.asarray(updates).shape[1], np.inf))

    rules = (
        bind(broken),
        bind(aggregators.multi_krum, "rule", n_malicious=5),
        bind(endless),
        bind(aggregators.median),
    )
    found = rules_on_a_round(RUN, rules=rules, start=FRESH)
    reasons = [own.reason for own in found.rules]
    assert reasons[0] == "ZeroDivisionError: of my own\\nmaking"
    assert "multi_krum needs" in reasons[1]
    assert "would not be finite" in reasons[2]
    assert reasons[3] == ""
    assert [len(own.draws) for own in found.rules] == [0, 0, 0, 1]


def test_attackers_who_would_sleep_attack_in_a_probe():
    asleep = RUN.replace(attack=replace(RUN.attack, sleeps=9))
    (own,) = rules_on_a_round(asleep, rules=RULES[:1], start=FRESH).rules
    assert own.draws[0].leak == pytest.approx(0.5, abs=1e-6)


def test_a_stored_probe_is_read_and_another_rule_is_another_probe(tmp_path):
    said = []
    study = bind(rules_on_a_round, "study", rules=RULES, start=FRESH)
    found = load_or_make_study(study, RUN, tmp_path, progress=lambda done, what: said.append((done, what)))
    assert said == [(0, "the clients train"), (1, "fedavg"), (2, "median"), (3, "fltrust")]
    assert load_or_make_study(study, RUN, tmp_path, progress=lambda done, what: said.append(1)) == found
    assert len(said) == 4
    others = [
        bind(study, "study", rules=RULES[:2]),
        bind(study, "study", rules=(*RULES[:2], aggregators.fltrust())[::-1]),
        bind(study, "study", draws=2),
        bind(study, "study", start=AfterRounds(1)),
    ]
    assert len({one.identity for one in (study, *others)}) == 5


def test_an_edited_rule_is_another_probe():
    def made(body):
        space = {"__name__": "mine", "Aggregate": Aggregate, "np": np}
        exec(f"def mine(updates):\n    return Aggregate({body})", space)
        return bind(rules_on_a_round, "study", rules=(rule(space["mine"]),), start=FRESH).identity

    mean, doubled = "np.asarray(updates).mean(axis=0)", "2 * np.asarray(updates).mean(axis=0)"
    assert made(mean) == made(mean) != made(doubled)
