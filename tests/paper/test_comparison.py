from holdfast.lab.choices import build_contest
from holdfast.paper.comparison import ATTACKED, HONEST, comparison
from holdfast.paper.experiment import runs_of


def test_every_attacked_run_has_a_twin_without_attackers():
    contest = build_contest("digits", ["median", "and-mask"], n_seeds=2, attack="edge-case")
    experiment = comparison(contest)
    assert experiment.title == "digits: 10 of 50 clients attack (edge-case)"
    assert (experiment.rows, experiment.columns) == (("median", "and-mask"), (ATTACKED, HONEST))
    assert len(runs_of([experiment])) == 8
    for cell in experiment.cells:
        assert [run.seed for run in cell.runs] == [0, 1]
        assert {run.attack.n_malicious for run in cell.runs} == {10 if cell.column == ATTACKED else 0}
