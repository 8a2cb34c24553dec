import json

import pytest

from holdfast.paper import experiments_named
from holdfast.paper.experiment import Cell, Experiment, runs_folder
from holdfast.paper.reproduction import make_missing, plan_runs
from holdfast.runs.store import files_of

from ..runs.tiny import load_result, made, stop_after, tiny_run

pytestmark = pytest.mark.slow


def experiment(*runs):
    cells = tuple(
        Cell(str(n), "phishing", "phishing", "edge-case", "fedavg", runs=(run,)) for n, run in enumerate(runs)
    )
    return Experiment("table0", "A table", "table", "", cells)


def test_a_plan_is_what_is_missing_the_first_seeds_first(tmp_path):
    runs = [tiny_run(seed=1), tiny_run(), tiny_run("median")]
    made(runs[2], runs_folder(tmp_path))
    stop_after(2, runs[0], runs_folder(tmp_path))
    plan = plan_runs([experiment(*runs)], tmp_path)
    assert list(plan.missing.values()) == [runs[1], runs[0]]
    assert plan.n_done[runs[0].key] == 2
    assert plan.time_left(1).seconds > 0
    assert plan.time_left(1).unknown == ()


def test_missing_runs_are_made_and_what_cannot_be_made_stops_nothing(tmp_path):
    runs = [tiny_run("krum", n_malicious=5), tiny_run(), tiny_run(seed=1)]
    plan = plan_runs([experiment(*runs)], tmp_path)
    *_, last = make_missing(plan, tmp_path, n_workers=1)
    assert (last.n_finished, last.left.seconds) == (2, 0.0)
    assert list(last.failed) == [runs[0].key]
    assert "krum needs" in last.failed[runs[0].key]
    assert load_result(runs[2], runs_folder(tmp_path)).finished
    assert not files_of(runs[2].key, runs_folder(tmp_path)).model.exists()
    assert list(plan_runs([experiment(*runs)], tmp_path).missing) == [runs[0].key]


@pytest.mark.parametrize(
    ("changes", "reason"), [({"data": "0" * 64}, "other examples"), ({"code": 99}, "code epoch 99")]
)
def test_what_cannot_be_used_is_made_again_and_the_reason_said(tmp_path, changes, reason):
    run, where = tiny_run(), runs_folder(tmp_path)
    made(run, where)
    path = files_of(run.key, where).result
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))
    plan = plan_runs([experiment(run)], tmp_path)
    assert list(plan.missing) == [run.key]
    assert reason in plan.unusable[run.key]


def test_models_are_kept_if_asked_for(tmp_path):
    run = tiny_run()
    list(make_missing(plan_runs([experiment(run)], tmp_path), tmp_path, n_workers=1, keep_models=True))
    assert files_of(run.key, runs_folder(tmp_path)).model.exists()


def test_a_task_without_its_data_is_left_out_and_said_to_be(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path / "nothing"))
    plan = plan_runs(experiments_named(["table1"], scale="smoke", n_seeds=1), tmp_path)
    assert set(plan.without_data) == {"cifar10", "twitter"}
    assert {run.task.name for run in plan.missing.values()} == {"phishing", "phishing-noniid", "digits"}


def test_only_the_tasks_that_were_asked_for_are_made(tmp_path):
    plan = plan_runs(experiments_named(["table8"], scale="smoke", n_seeds=1), tmp_path, tasks=["digits"])
    assert {run.task.name for run in plan.missing.values()} == {"digits"}
