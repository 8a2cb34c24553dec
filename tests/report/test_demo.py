from dataclasses import replace

import pytest

from holdfast.report.demo import DEFENCES, contests, verdict
from holdfast.runs.results import Result


def after(accuracy, success):
    start = Result.start(contests()[0].honest)
    return replace(start, records=({"accuracy": accuracy, "attack_success": success},))


def test_both_contests_have_every_defence_and_one_run_without_attackers():
    for contest in contests(seed=3, n_rounds=2):
        assert [run.defence.name for run in contest.runs.values()] == list(DEFENCES)
        assert {run.seed for run in contest.everything} == {3}
        assert {run.task.n_rounds for run in contest.everything} == {2}
        assert contest.honest.attack.n_malicious == 0
        assert all(run.attack.n_malicious * 5 == run.task.n_clients for run in contest.runs.values())


@pytest.mark.parametrize(
    ("accuracy", "success", "word"),
    [
        (0.9, 0.05, "kept out"),
        (0.9, 0.4, "half in"),
        (0.9, 0.9, "let in"),
        (0.5, 0.0, "hardly learns"),
    ],
)
def test_a_verdict_needs_both_learning_and_keeping_out(accuracy, success, word):
    assert verdict(after(accuracy, success), after(0.95, 0.0)) == word
