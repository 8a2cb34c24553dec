"""Leak, gain and dose, worked out by hand, and as they are recorded round by round."""

from dataclasses import replace

import numpy as np
import pytest

from holdfast import Aggregate, aggregators, factions
from holdfast.lab.attacks import value_trigger
from holdfast.lab.leaks import BLOCK, Let, let_through
from holdfast.lab.scenario import Attack, Defence, Run
from holdfast.lab.simulation import simulate
from holdfast.runs.records import Summary, stored_record

from ..toy import TOY, TRIGGER, attack, idle

MARKED = attack(value_trigger, features=(2,), value=TRIGGER)
ATTACKED = Run(TOY, MARKED, sampling="fixed").replace(n_rounds=2)

#: Two honest rows with the mean (2, 0), and attackers with the mean (2, 4): they push by (0, 4).
ROWS = np.array([[1.0, 1.0], [3.0, -1.0], [2.0, 3.0], [2.0, 5.0]])
ATTACKS = np.array([False, False, True, True])


def records(run):
    return [record for record, _ in simulate(run)]


@pytest.mark.parametrize(
    ("applied", "leak", "gain", "dose"),
    [
        ([2.0, 0.0], 0.0, 1.0, 0.0),  # the honest mean
        ([2.0, 4.0], 1.0, 1.0, 1.0),  # the attackers'
        ([2.0, 1.0], 0.25, 1.0, 0.25),
        ([1.0, 1.0], 0.25, 0.5, 0.5),  # half of the honest step
        ([0.0, 0.0], 0.0, 0.0, None),  # no step at all
        ([2.0, -2.0], -0.5, 1.0, -0.5),  # away from where the attackers push
        ([-2.0, 1.0], 0.25, -1.0, None),  # away from where the honest go
    ],
)
def test_leak_gain_and_dose_are_those_worked_out_by_hand(applied, leak, gain, dose):
    assert let_through(ROWS, ATTACKS, np.array(applied)) == (leak, gain, dose)


def test_the_dose_of_a_rule_that_merely_slows_down_stays_and_its_leak_does_not():
    rng = np.random.default_rng(2)
    rows = rng.normal(size=(10, 50)) + rng.normal(size=50)
    rows[:3] -= 2 * rows[3:].mean(axis=0)  # against the honest step, and not only
    attacks, applied = np.arange(10) < 3, rng.dirichlet(np.ones(10)) @ rows
    whole, tenth = (let_through(rows, attacks, applied * factor) for factor in (1, 0.1))
    assert tenth.dose == pytest.approx(whole.dose)
    assert abs(tenth.leak - whole.leak) > 0.1
    honest, push = rows[3:].mean(axis=0), rows[:3].mean(axis=0) - rows[3:].mean(axis=0)
    (g, p), *_ = np.linalg.lstsq(np.stack([honest, push], axis=1), applied, rcond=None)
    assert whole.dose == pytest.approx(p / g)


def test_attackers_who_push_along_the_honest_step_have_no_dose():
    rows = np.array([[1.0, 2.0], [1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    found = let_through(rows, ATTACKS, rows.mean(axis=0))
    assert found.dose is None
    assert found.leak == pytest.approx(0.5)


def test_plain_averaging_leaks_the_share_of_the_attackers():
    rows = np.random.default_rng(1).normal(size=(20, 3 * BLOCK + 7)).astype(np.float32)
    is_attacker = np.arange(20) % 5 == 2
    leak, gain, dose = let_through(rows, is_attacker, rows.mean(axis=0, dtype=np.float64))
    honest = rows[~is_attacker].mean(axis=0, dtype=np.float64)
    push = rows[is_attacker].mean(axis=0, dtype=np.float64) - honest
    assert leak == pytest.approx(0.2, abs=1e-12)
    assert dose == pytest.approx(0.2, abs=1e-12)
    assert gain == pytest.approx(1 + 0.2 * (push @ honest) / (honest @ honest), abs=1e-12)


def test_what_is_not_defined_is_none():
    nobody, everybody = np.zeros(4, bool), np.ones(4, bool)
    step = np.array([2.0, 1.0])
    leak, gain, dose = let_through(ROWS, nobody, step)
    assert (leak, dose) == (None, None)
    assert gain is not None
    assert let_through(ROWS, everybody, step) == Let()
    assert let_through(np.zeros((4, 2)), ATTACKS, step) == Let()
    alike = np.tile([1.0, 2.0], (4, 1))  # the attackers send what the honest send
    assert let_through(alike, ATTACKS, alike[0]) == (None, 1.0, None)
    assert let_through(ROWS, ATTACKS, np.array([2.0, np.inf])) == Let()


@pytest.mark.parametrize("value", [np.nan, np.inf, 1e200])
def test_rows_that_no_rule_gets_to_see_do_not_count(value):
    rows = np.vstack([ROWS, [[value, 0.0], [0.0, -value]]]).astype(np.float64)
    attacks, step = np.append(ATTACKS, [False, True]), np.array([2.0, 1.0])
    is_seen = np.isfinite(value)
    assert (let_through(rows, attacks, step) == let_through(ROWS, ATTACKS, step)) == (not is_seen)
    without_honest = np.where(ATTACKS[:, None], ROWS, np.nan)
    assert let_through(without_honest, ATTACKS, step) == Let()


def test_every_round_of_a_simulation_records_them():
    found = records(ATTACKED)
    assert len(found) == 2
    for record in found:
        assert record.leak == pytest.approx(record.n_attackers / len(record.clients), abs=1e-6)
        assert record.dose == pytest.approx(record.leak, abs=1e-6)
        assert 0.5 < record.gain < 2
    median = records(ATTACKED.replace(defence=Defence("median", aggregators.median)))[0]
    assert median.leak < found[0].leak
    clean = records(ATTACKED.replace(attack=Attack()))[0]
    assert (clean.leak, clean.gain, clean.dose) == (None, pytest.approx(1.0), None)


def test_attackers_who_are_honest_for_now_push_nowhere():
    first, second = records(ATTACKED.replace(attack=replace(MARKED, sleeps=1)))
    assert first.leak is None
    assert second.leak is not None


def test_a_round_in_which_nothing_is_aggregated_has_none_of_them():
    def refusing(updates):
        return Aggregate(np.full(np.asarray(updates).shape[1], np.nan))

    refused = records(ATTACKED.replace(defence=Defence("own", refusing)))[0]
    heard = records(ATTACKED.replace(defence=Defence("heard", watch=factions(hearing=2)), n_per_round=9))[0]
    idling = records(ATTACKED.replace(train=idle, attack=replace(MARKED, train=idle)))[0]
    for record in (refused, heard, idling):
        assert (record.leak, record.gain, record.dose) == (None, None, None)


def test_they_are_stored_by_round_and_absent_where_a_round_has_none():
    attacked, clean = records(ATTACKED)[0], records(ATTACKED.replace(attack=Attack()))[0]
    stored = [stored_record(one) for one in (attacked, clean)]
    assert stored[0]["leak"] == pytest.approx(attacked.leak, rel=1e-5)
    assert stored[0]["dose"] == pytest.approx(attacked.dose, rel=1e-5)
    assert "leak" not in stored[1]
    assert Summary.of(stored).rounds["leak"] == [stored[0]["leak"], None]
    older = [{name: value for name, value in one.items() if name not in ("leak", "gain")} for one in stored]
    assert "leak" not in Summary.of(older).rounds
