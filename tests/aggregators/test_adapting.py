"""Rules in a round with fewer attackers or clients than their settings assume."""

import numpy as np
import pytest

from holdfast import defend, factions, flame, invariant, krum, krum_trimmed_mean, multi_krum, trimmed_mean
from holdfast.aggregators import arc, bulyan, cached, dnc, nnm, weighted_trimmed_mean
from holdfast.core import Attendance
from tests.watching.federation import Federation

ALL = Attendance(n_clients=20)


@pytest.mark.parametrize(
    ("rule", "attendance", "adapted"),
    [
        (krum(n_malicious=4), Attendance(17, 3), krum(n_malicious=1)),
        (krum(n_malicious=4), Attendance(14, 6), krum(n_malicious=1)),
        (krum(n_malicious=4), Attendance(14, 6, n_suspected=2), krum(n_malicious=2)),
        (krum(n_malicious=8), Attendance(13), krum(n_malicious=5)),
        (krum(n_malicious=8), Attendance(10), krum(n_malicious=8)),  # undefined there, and refuses
        (multi_krum(n_malicious=9, n_selected=3), Attendance(20), multi_krum(n_malicious=8, n_selected=3)),
        (krum_trimmed_mean(n_malicious=4), Attendance(18, 2), krum_trimmed_mean(n_malicious=2, alpha=2 / 16)),
        (bulyan(n_malicious=4), Attendance(19, 1), bulyan(n_malicious=3)),
        (dnc(n_malicious=4), Attendance(19, 1), dnc(n_malicious=3)),
        (trimmed_mean(alpha=0.25), Attendance(18, 2), trimmed_mean(alpha=3 / 18)),
        (trimmed_mean(alpha=0.25), Attendance(10, 10), trimmed_mean(alpha=0.1)),
        (invariant(tau=0.2, alpha=0.45), Attendance(18, 2), invariant(tau=0.2, alpha=7 / 18)),
        (weighted_trimmed_mean(alpha=0.2), Attendance(9, 1), weighted_trimmed_mean(alpha=1 / 9)),
        (nnm(n_malicious=4), Attendance(18, 2), nnm(n_malicious=2, rule=trimmed_mean(alpha=3 / 18))),
        (
            arc(n_malicious=4, rule=krum(n_malicious=4)),
            Attendance(18, 2),
            arc(n_malicious=2, rule=krum(n_malicious=2)),
        ),
        (cached(rule=krum(n_malicious=4)), Attendance(18, 2), cached(rule=krum(n_malicious=4))),
        (flame, Attendance(18, 2), flame),
    ],
    ids=str,
)
def test_a_rule_assumes_as_many_attackers_as_can_be_left(rule, attendance, adapted):
    assert rule.adapted(attendance) == adapted


@pytest.mark.parametrize(
    "rule",
    [krum(n_malicious=4), krum_trimmed_mean(n_malicious=4), trimmed_mean, invariant, bulyan(n_malicious=4)],
    ids=str,
)
def test_nothing_changes_where_nobody_is_expelled_and_enough_clients_came(rule):
    assert rule.adapted(ALL) == rule


def against_all(n_attackers=4, n_honest=9, dim=2000):
    """Make updates of attackers who send the same, three honest steps long, against everybody else."""
    rng = np.random.default_rng(0)
    step = rng.normal(size=dim)
    return np.array(
        [-3 * step] * n_attackers + [step + 0.01 * rng.normal(size=dim) for _ in range(n_honest)]
    ), step


@pytest.mark.parametrize("n_malicious", [4, 7, 8, 10])
@pytest.mark.parametrize("rule", [krum, multi_krum, krum_trimmed_mean])
def test_too_cautious_a_setting_does_not_hand_the_model_to_the_attackers(rule, n_malicious):
    updates, step = against_all()
    result = defend(updates, rule(n_malicious=n_malicious))
    assert result.update @ step / np.linalg.norm(result.update) / np.linalg.norm(step) > 0.99
    adapted = [note for note in result.diagnostics.notes if "n_malicious=5" in note]
    assert len(adapted) == (n_malicious > 5)


def test_files_that_hostile_clients_spoil_do_not_turn_the_bound_against_the_operator():
    updates, step = against_all()
    spoilt = np.full((7, updates.shape[1]), np.nan)
    result = defend(np.concatenate([updates, spoilt]), krum_trimmed_mean(n_malicious=8))
    assert result.update @ step > 0
    assert any("13 clients are left" in note for note in result.diagnostics.notes)


def test_a_rule_behind_a_watch_relaxes_with_every_expulsion_and_says_so():
    federation, state, notes = Federation(n=40, dim=600, n_plotters=6), None, []
    for _ in range(9):
        result = defend(
            federation.updates(),
            krum_trimmed_mean(n_malicious=6),
            like=np.zeros(600, np.float32),
            clients=range(40),
            watch=factions(),
            state=state,
            rng=np.random.default_rng(0),
        )
        state = result.state
        notes.append(result.diagnostics.notes)
    assert result.verdicts.of("expelled") == federation.plotters
    assert any("ran as krum_trimmed_mean(n_malicious=1" in note for note in notes[-1])
    assert result.diagnostics.clients == tuple(range(6, 40))
