import errno
import glob
import json
import struct
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="torch is not installed (pip install holdfast-fl[sim])")

from holdfast.errors import HoldfastError, InputError
from holdfast.lab.choices import Numbers, build_run
from holdfast.lab.scenario import Defence
from holdfast.runs.recording import run_and_record
from holdfast.runs.records import COLUMNS
from holdfast.runs.results import pack_results
from holdfast.runs.tracking import track, tracker_named

RUN = build_run(
    "phishing",
    attack="edge-case",
    defence="invariant",
    settings={"n_train": 600, "n_test": 100},
    numbers=Numbers(n_rounds=3, n_clients=12, n_per_round=6),
)


class Listener:
    """A tracker that remembers; it may be deaf from some round on."""

    def __init__(self, *, deaf_from=99):
        self.heard, self.deaf_from = [], deaf_from

    def begin(self, result):
        self.heard.append(result.key)

    def log(self, number, numbers):
        if number >= self.deaf_from:
            raise ConnectionError("gone")
        self.heard.append((number, numbers))

    def end(self, *, finished):
        self.heard.append(finished)


def test_every_round_is_sent_once_and_results_pass_unchanged(tmp_path):
    listener = Listener()
    results = list(track(run_and_record(RUN, tmp_path), listener))
    assert [len(result.records) for result in results] == [0, 1, 2, 3]
    key, *heard, finished = listener.heard
    assert (key, [number for number, _ in heard], finished) == (RUN.key, [1, 2, 3], True)
    for name in COLUMNS:
        assert [numbers[name] for _, numbers in heard] == results[-1].series(name)


def test_what_a_rule_does_not_measure_is_left_out(tmp_path):
    run, listener = replace(RUN, defence=Defence()), Listener()
    list(track(run_and_record(run, tmp_path), listener))
    assert set(COLUMNS) - set(listener.heard[1][1]) == {"kept_fraction"}


def test_a_finished_run_is_sent_from_its_file(tmp_path):
    *_, result = run_and_record(RUN, tmp_path)
    listener = Listener()
    pack_results(tmp_path)
    list(track(run_and_record(RUN, tmp_path), listener))
    assert [number for number, _ in listener.heard[1:-1]] == [1, 2, 3]
    assert listener.heard[-1] is True
    assert result.finished


def test_a_tracker_that_cannot_be_closed_costs_no_run(tmp_path, caplog):
    class Stuck(Listener):
        def end(self, *, finished):
            raise OSError(errno.ENOSPC, "No space left on device")

    results = list(track(run_and_record(RUN, tmp_path), Stuck()))
    assert results[-1].finished
    assert "Stuck could not be closed: [Errno 28] No space left on device" in caplog.text


def test_a_run_that_is_left_ends_unfinished(tmp_path):
    listener = Listener()
    following = track(run_and_record(RUN, tmp_path), listener)
    next(following), next(following)
    following.close()
    assert [heard if isinstance(heard, bool) else None for heard in listener.heard] == [None, None, False]


def test_a_tracker_that_fails_halfway_does_not_cost_the_run(tmp_path, caplog):
    listener = Listener(deaf_from=2)
    *_, result = track(run_and_record(RUN, tmp_path), listener)
    assert result.finished
    assert len(result.records) == 3
    assert caplog.messages.count("Listener failed: gone. The run continues without it") == 1


def test_a_tracker_that_cannot_begin_stops_before_the_first_round(tmp_path):
    class Refusing(Listener):
        def begin(self, result):
            raise ConnectionError("no server")

    with pytest.raises(HoldfastError, match="Refusing cannot be used: no server"):
        list(track(run_and_record(RUN, tmp_path), Refusing()))
    assert not list(tmp_path.iterdir())


def expected(result, name):
    return {number: pytest.approx(value) for number, value in enumerate(result.series(name), start=1)}


def test_tensorboard_gets_every_number_and_a_second_time_replaces_the_first(tmp_path):
    pytest.importorskip(
        "tensorboard", reason="tensorboard is not installed (pip install holdfast-fl[tensorboard])"
    )
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    for _ in range(2):
        tracker = tracker_named(f"tensorboard:{tmp_path / 'board'}")
        *_, result = track(run_and_record(RUN, tmp_path / "results"), tracker)
    found = EventAccumulator(str(tmp_path / "board" / RUN.key))
    found.Reload()
    assert set(found.Tags()["scalars"]) == {*COLUMNS, "leak", "gain"}
    for name in found.Tags()["scalars"]:
        assert {event.step: event.value for event in found.Scalars(name)} == expected(result, name)
        assert len(found.Scalars(name)) == 3


def test_tensorboard_needs_no_torch(tmp_path):
    pytest.importorskip("tensorboard")
    code = (
        "import sys; sys.modules['torch'] = None\n"
        "from holdfast.lab import TASKS, Run\nfrom holdfast.runs.results import Result\n"
        "from holdfast.runs.tracking import tracker_named\n"
        f"tracker = tracker_named('tensorboard:{tmp_path}')\n"
        "tracker.begin(Result(Run(TASKS['phishing']).description))\n"
        "tracker.log(1, {'accuracy': 0.5})\ntracker.end(finished=True)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    assert b"accuracy" in b"".join(path.read_bytes() for path in tmp_path.glob("*/events*"))


def test_mlflow_gets_every_number(tmp_path, monkeypatch):
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed (pip install holdfast-fl[mlflow])")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database needs more than the client
    uri = (tmp_path / "mlruns").as_uri()
    *_, result = track(run_and_record(RUN, tmp_path / "results"), tracker_named(f"mlflow:{uri}"))
    client = mlflow.MlflowClient(uri)
    (run,) = client.search_runs([client.get_experiment_by_name("holdfast").experiment_id])
    assert run.info.status == "FINISHED"
    assert (run.data.params["key"], run.data.params["defence"]) == (RUN.key, "invariant")
    assert run.data.tags["holdfast.run"] == result.described
    for name in COLUMNS:
        history = client.get_metric_history(run.info.run_id, name)
        assert {metric.step: metric.value for metric in history} == expected(result, name)


def stored_by_wandb(path):
    """Yield the messages of an offline run's file: a LevelDB log after a head of seven bytes."""
    content, block = Path(path).read_bytes(), 32768
    place, message = 7, b""
    while place + 7 <= len(content):
        if block - place % block < 7:  # a block's end, too short for a head
            place += block - place % block
        length, kind = struct.unpack_from("<HB", content, place + 4)
        message += content[place + 7 : place + 7 + length]
        place += 7 + length
        if kind in (1, 4):  # whole, or its last part
            yield message
            message = b""


def test_wandb_gets_every_number(tmp_path, monkeypatch):
    wandb = pytest.importorskip("wandb", reason="wandb is not installed (pip install holdfast-fl[wandb])")
    from wandb.proto.wandb_internal_pb2 import Record

    for name, value in {"MODE": "offline", "DIR": str(tmp_path), "SILENT": "true"}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    *_, result = track(run_and_record(RUN, tmp_path / "results"), tracker_named("wandb:trial"))
    wandb.teardown()  # waits for the process that writes the file
    (path,) = glob.glob(str(tmp_path / "wandb" / "offline-run-*" / "*.wandb"))
    records = [Record.FromString(message) for message in stored_by_wandb(path)]
    assert [record.run.run_id for record in records if record.HasField("run")][:1] == [RUN.key]
    rounds = [
        {item.key or item.nested_key[0]: json.loads(item.value_json) for item in record.history.item}
        for record in records
        if record.HasField("history")
    ]
    for name in COLUMNS:
        assert {one["_step"]: one[name] for one in rounds} == expected(result, name)


def test_no_tracker_is_imported_unless_asked_for():
    code = (
        "import sys, holdfast.runs.tracking, holdfast.cli.run\n"
        "assert not {'tensorboard', 'mlflow', 'wandb'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_tracker_that_is_not_installed_names_what_to_install(monkeypatch):
    monkeypatch.setattr("holdfast.runs.tracking.find_spec", lambda name: None)
    with pytest.raises(InputError, match=r"mlflow is not installed: pip install 'holdfast-fl\[mlflow\]'"):
        tracker_named("mlflow")


def holdfast_run(*words):
    from holdfast.cli.commands import app

    return CliRunner().invoke(app, ["run", "phishing", *map(str, words)])


def test_the_command_tracks_a_run(tmp_path):
    pytest.importorskip(
        "tensorboard", reason="tensorboard is not installed (pip install holdfast-fl[tensorboard])"
    )
    numbers = ["--rounds=2", "--clients=12", "--per-round=6", "--set=n_train=600", "--set=n_test=100"]
    done = holdfast_run(*numbers, "--out", tmp_path / "results", "--track", f"tensorboard:{tmp_path}/b")
    assert done.exit_code == 0, done.output
    assert len(glob.glob(str(tmp_path / "b" / "*" / "events*"))) == 1


def test_a_misspelt_tracker_is_answered_before_anything_is_run(tmp_path):
    done = holdfast_run("--out", tmp_path, "--track", "tensorbord")
    assert done.exit_code == 1
    assert "no tracker 'tensorbord'; did you mean 'tensorboard'?" in done.stderr
    assert not list(tmp_path.iterdir())
