import json
from dataclasses import replace

import pytest

from holdfast.paper.experiment import (
    Cell,
    Experiment,
    Printed,
    document,
    runs_folder,
    runs_of,
    stored_results,
)
from holdfast.runs.results import pack_results

from ..runs import tiny
from ..runs.tiny import load_result, stop_after, tiny_run


def cell(*runs, row="Invariant", **more):
    named = {"task": "phishing", "attack": "edge-case", "defence": "invariant", "n_wanted": 3}
    return Cell(row, "phishing", runs=runs, **named, **more)


def experiment(*cells):
    return Experiment("table0", "A table", "table", "a note", cells)


def made(folder, *runs):
    for run in runs:
        tiny.made(run, runs_folder(folder))
    return [load_result(run, runs_folder(folder)) for run in runs]


def test_a_cell_says_what_its_seeds_came_to(tmp_path):
    runs = [tiny_run("invariant", seed=seed, n_rounds=12) for seed in range(2)]
    results = made(tmp_path, *runs)
    one = experiment(cell(*runs, printed=Printed(0.9, 0.1), stands_in_for="cifar10"))
    shown = document([one], tmp_path, scale="cpu")
    (found,) = shown["experiments"][0]["cells"]
    values = [result.last("accuracy") for result in results]
    assert found["measured"]["accuracy"]["values"] == values
    assert found["measured"]["accuracy"]["mean"] == pytest.approx(sum(values) / 2)
    assert found["measured"]["accuracy"]["variance"] == pytest.approx((values[0] - values[1]) ** 2 / 2)
    tenth = [sum(result.series("attack_success")[2:]) / 10 for result in results]
    assert found["measured"]["last10_attack_success"]["values"] == pytest.approx(tenth)
    assert 0 < found["measured"]["kept_fraction"] < 1
    assert found["measured"]["seconds_a_round"] > 0
    assert (found["n_seeds"], found["n_wanted"], found["scale"]) == (2, 3, "cpu")
    assert found["printed"]["accuracy"] == 0.9
    assert found["stands_in_for"] == "cifar10"
    assert found["keys"] == [run.key for run in runs]
    assert json.loads(json.dumps(shown, allow_nan=False)) == shown


def test_a_table_may_give_the_mean_of_its_last_rounds(tmp_path):
    run = tiny_run("invariant", n_rounds=6)
    (result,) = made(tmp_path, run)
    one = replace(experiment(cell(run)), n_last=5)
    (shown,) = document([one], tmp_path, scale="cpu")["experiments"]
    for name in ("accuracy", "attack_success"):
        mean = sum(result.series(name)[1:]) / 5
        assert shown["cells"][0]["measured"][name]["mean"] == pytest.approx(mean)
    assert shown["n_last"] == 5


def test_what_is_not_finished_is_not_measured_but_told_of(tmp_path):
    run = tiny_run(n_rounds=5)
    stop_after(3, run, runs_folder(tmp_path), every=2)
    shown = document([experiment(cell(run))], tmp_path, scale="cpu")
    assert shown["experiments"][0]["cells"][0]["measured"] is None
    assert shown["runs"][run.key]["finished"] is False
    assert len(shown["runs"][run.key]["series"]["accuracy"]) == 2


def test_a_cell_without_runs_is_not_measured(tmp_path):
    shown = document([experiment(cell())], tmp_path, scale="cpu")
    found = shown["experiments"][0]["cells"][0]
    assert (found["measured"], found["n_seeds"], found["keys"]) == (None, 0, [])
    assert shown["runs"] == {}


def test_a_run_is_told_of_once_with_its_attackers_and_what_was_trimmed_of_whom(tmp_path):
    run = tiny_run("invariant")
    (result,) = made(tmp_path, run)
    one = experiment(cell(run), cell(run, row="again"))
    shown = document([one, one], tmp_path, scale="cpu")
    assert list(shown["runs"]) == [run.key] == list(runs_of([one, one]))
    told = shown["runs"][run.key]
    assert told["run"] == result.described
    assert (told["n_clients"], told["n_per_round"], told["n_rounds"]) == (12, 6, 3)
    sampled = {client for record in result.records for client in record["clients"]}
    assert set(told["trim_share"]) == {str(client) for client in sampled}
    assert all(0 <= share <= 1 for share in told["trim_share"].values())
    assert set(told["malicious"]) <= sampled
    first = result.records[0]["clients"][0]
    shares = [
        record["diagnostics"]["trimmed_share"][record["clients"].index(first)]
        for record in result.records
        if first in record["clients"]
    ]
    assert told["trim_share"][str(first)] == pytest.approx(sum(shares) / len(shares))


def test_results_are_read_without_the_data(tmp_path, monkeypatch):
    from holdfast.lab.choices import build_run

    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path / "nothing"))
    run = build_run("cifar10", attack="edge-case", scale="smoke")
    assert stored_results({run.key: run}, tmp_path) == ({}, {})
    assert document([experiment(cell(run))], tmp_path, scale="smoke")["runs"] == {}


def test_the_judge_sees_the_experiments(tmp_path):
    def judge(experiments):
        return [{"id": one["name"]} for one in experiments]

    assert document([experiment()], tmp_path, scale="cpu", judge=judge)["claims"] == [{"id": "table0"}]


def test_a_document_is_the_same_once_its_runs_are_packed(tmp_path):
    runs = [tiny_run("invariant", seed=seed) for seed in range(2)]
    made(tmp_path, *runs)
    before = document([experiment(cell(*runs))], tmp_path, scale="cpu")
    pack_results(runs_folder(tmp_path))
    assert document([experiment(cell(*runs))], tmp_path, scale="cpu") == before


def test_what_cannot_be_used_is_listed_with_the_reason(tmp_path):
    run = tiny_run()
    made(tmp_path, run)
    path = runs_folder(tmp_path) / f"{run.key}.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"code": 99}))
    shown = document([experiment(cell(run))], tmp_path, scale="cpu")
    assert shown["runs"] == {}
    assert "code epoch 99" in shown["unusable"][run.key]


def test_one_seed_has_no_spread_and_a_missing_number_none(tmp_path):
    run = tiny_run(attack="none")
    made(tmp_path, run)
    (found,) = document([experiment(cell(run))], tmp_path, scale="cpu")["experiments"][0]["cells"]
    accuracy = found["measured"]["accuracy"]
    assert (accuracy["std"], accuracy["variance"]) == (0.0, 0.0)
    assert accuracy["low"] == accuracy["mean"] == accuracy["high"] == accuracy["values"][0]
    assert found["measured"]["attack_success"] is None  # nothing to succeed with
