import pytest

from holdfast.paper.demo import HONEST, RULES, demo_experiments, demo_verdicts


def test_both_experiments_have_every_rule_and_one_row_without_attackers():
    experiments = demo_experiments(seed=3, n_rounds=2)
    assert [experiment.title for experiment in experiments] == ["Phishing mail", "Handwritten digits"]
    for experiment in experiments:
        assert experiment.rows == tuple(RULES)
        runs = {cell.row: run for cell in experiment.cells for run in cell.runs}
        assert {run.seed for run in runs.values()} == {3}
        assert {run.task.n_rounds for run in runs.values()} == {2}
        assert runs.pop(HONEST).attack.n_malicious == 0
        assert [run.defence.name for run in runs.values()] == list(RULES)[1:]
        assert all(run.attack.n_malicious * 5 == run.task.n_clients for run in runs.values())


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
    def cell(row, accuracy, success):
        return {
            "row": row,
            "measured": {"accuracy": {"mean": accuracy}, "attack_success": {"mean": success}},
        }

    cells = [cell(HONEST, 0.95, 0.0), cell("median", accuracy, success)]
    assert demo_verdicts({"cells": cells}) == {HONEST: "", "median": word}
