import json

import pytest

from holdfast.errors import InputError
from holdfast.lab.choices import build_contest
from holdfast.paper.comparison import ATTACKED, HONEST, comparison
from holdfast.paper.experiment import document, runs_folder, runs_of
from holdfast.paper.statistics import paired

from ..runs.tiny import made, tiny_run


def test_every_attacked_run_has_a_twin_without_attackers():
    contest = build_contest("digits", ["median", "and_mask"], seeds=(0, 1), attack="edge-case")
    experiment = comparison(contest)
    assert experiment.title == "digits: 10 of 50 clients attack (edge-case)"
    assert (experiment.rows, experiment.columns) == (("median", "and_mask"), (ATTACKED, HONEST))
    assert len(runs_of([experiment])) == 8
    for cell in experiment.cells:
        assert [run.seed for run in cell.runs] == [0, 1]
        assert {run.attack.n_malicious for run in cell.runs} == {10 if cell.column == ATTACKED else 0}


def test_the_note_says_what_was_set_and_which_seeds_ran():
    settings = {"tau": 0.4, "lr": 0.05}
    contest = build_contest("digits", ["and_mask"], seeds=(3, 5), attack="edge-case", settings=settings)
    assert comparison(contest, settings=settings).note == (
        "30 rounds, with 20 of 50 clients each. Seeds: 3, 5. Set: tau=0.4, lr=0.05."
    )
    single = {"fedavg": [tiny_run("fedavg", seed=0).replace(n_rounds=1)]}
    assert comparison(single).note.startswith("1 round, with ")
    assert comparison(single).note.endswith(" Seed: 0.")


def stored(folder, *, seeds=(3, 5, 7), without=()):
    """Return the document of a small comparison with a baseline, some of whose runs were never made."""
    contest = {rule: [tiny_run(rule, seed=seed) for seed in seeds] for rule in ("fedavg", "median")}
    experiment = comparison(contest, baseline="fedavg")
    for run in runs_of([experiment]).values():
        if (run.defence.name, run.seed) not in without:
            made(run, runs_folder(folder))
    return document([experiment], folder, scale="cpu")


def test_a_baseline_is_compared_with_seed_by_seed(tmp_path):
    found = stored(tmp_path)
    (experiment,) = found["experiments"]
    assert experiment["baseline"] == "fedavg"
    cells = {(cell["row"], cell["column"]): cell for cell in experiment["cells"]}
    for column in (ATTACKED, HONEST):
        own, baseline = cells["median", column], cells["fedavg", column]
        assert own["seeds"] == [3, 5, 7]
        assert "against" not in baseline["measured"]
        told = own["measured"]["against"]
        assert told["baseline"] == "fedavg"
        for name in ("accuracy", "last10_accuracy", "attack_success", "last10_attack_success"):
            values = [cell["measured"][name]["values"] for cell in (own, baseline)]
            assert told[name] == paired(*values)
    assert json.loads(json.dumps(found, allow_nan=False)) == found


def test_only_runs_of_the_same_seeds_are_pairs(tmp_path):
    (experiment,) = stored(tmp_path, without={("median", 5)})["experiments"]
    for cell in experiment["cells"][2:]:
        assert (cell["row"], cell["seeds"]) == ("median", [3, 7])
        assert cell["measured"]["against"] == {"baseline": "fedavg"}


def test_a_baseline_that_is_not_compared_is_refused_before_anything_runs():
    contest = build_contest("digits", ["median", "and_mask"], attack="edge-case")
    with pytest.raises(InputError, match="no defence 'x' to compare with; there are: median, and_mask"):
        comparison(contest, baseline="x")


def test_a_baseline_may_be_written_with_hyphens():
    contest = build_contest("digits", ["median", "and_mask"], attack="edge-case")
    assert comparison(contest, baseline="and-mask").baseline == "and_mask"
