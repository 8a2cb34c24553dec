import errno
import glob
import json
import re
import struct
import subprocess
import sys
import textwrap
from dataclasses import replace
from pathlib import Path
from typing import get_args

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="torch is not installed (pip install '.[sim]')")

from holdfast.errors import HoldfastError, InputError
from holdfast.lab.choices import Numbers, build_run
from holdfast.lab.scenario import Defence
from holdfast.runs.recording import run_and_record
from holdfast.runs.records import COLUMNS
from holdfast.runs.results import pack_results
from holdfast.runs.tracking import track, tracker_named
from holdfast.runs.verdicts import restored_verdicts
from holdfast.watching.verdicts import Standing

from .tiny import load_result, tiny_run, watched_run

RUN = build_run(
    "phishing",
    attack="edge-case",
    defence="invariant",
    settings={"n_train": 600, "n_test": 100},
    numbers=Numbers(n_rounds=3, n_clients=12, n_per_round=6),
)


class Listener:
    """A tracker that remembers; it may be deaf from some round on."""

    title, where = "Listener", None

    def __init__(self, *, deaf_from=99):
        self.heard, self.notes, self.deaf_from = [], {}, deaf_from

    def begin(self, result):
        self.heard.append(result.key)

    def log(self, number, numbers):
        if number >= self.deaf_from:
            raise ConnectionError("gone")
        self.heard.append((number, numbers))

    def note(self, number, text):
        self.notes[number] = text

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
        title = "Stuck"

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
        title = "Refusing"

        def begin(self, result):
            raise ConnectionError("no server")

    with pytest.raises(HoldfastError, match="Refusing cannot be used: no server"):
        list(track(run_and_record(RUN, tmp_path), Refusing()))
    assert not list(tmp_path.iterdir())


def numbers_of(run, folder):
    """Return the numbers of each round that a tracker gets of a run, and the notes by round."""
    listener = Listener()
    list(track(run_and_record(run, folder), listener))
    return [numbers for _, numbers in listener.heard[1:-1]], listener.notes


def test_each_client_has_its_own_series(tmp_path):
    rounds, notes = numbers_of(RUN, tmp_path)
    result = load_result(RUN, tmp_path)
    for numbers, record in zip(rounds, result.records, strict=True):
        seen = record["diagnostics"]
        for name, stored in {"norm": "norms", "cosine": "cosines", "trimmed_share": "trimmed_share"}.items():
            sent = {client: numbers[f"clients/{client}/{name}"] for client in record["clients"]}
            assert sent == dict(zip(seen["clients"], seen[stored], strict=True))
            assert numbers[f"spread/{name}/min"] == min(seen[stored])
            assert numbers[f"spread/{name}/median"] == pytest.approx(np.median(seen[stored]))
            assert numbers[f"spread/{name}/max"] == max(seen[stored])
        attacks = {client for client in record["clients"] if numbers[f"clients/{client}/attacks"]}
        assert attacks == set(record["attackers"])
        assert not [name for name in numbers if name.startswith("watch/") or "weight" in name]
    assert notes == {}


def test_the_verdicts_of_a_watch_are_numbers_and_words_when_they_change(tmp_path):
    run = watched_run()
    rounds, notes = numbers_of(run, tmp_path)
    records = load_result(run, tmp_path).records
    named = [numbers["watch/expelled"] + numbers["watch/counts_as_one"] for numbers in rounds]
    assert named == [0, 0, 5, 5, 5, 5]
    for numbers, record in zip(rounds, records, strict=True):
        for one in restored_verdicts(record["verdicts"]):
            standing, evidence = (
                numbers[f"clients/{one.client}/{name}"] for name in ("standing", "evidence")
            )
            assert standing == get_args(Standing).index(one.standing)
            assert 10**-evidence == pytest.approx(one.false_alarm)
    said = [str(restored_verdicts(record["verdicts"])) for record in records]
    assert notes[3] == said[2]
    assert all(notes[number] == said[number - 1] for number in notes)
    assert 6 not in notes  # nothing was new in the last round


def test_of_many_clients_only_some_have_series_of_their_own(tmp_path, monkeypatch):
    monkeypatch.setattr("holdfast.runs.tracking.series.N_FOLLOWED", 3)
    run = watched_run()
    rounds, _ = numbers_of(run, tmp_path)
    records = load_result(run, tmp_path).records
    found = restored_verdicts(records[2]["verdicts"]).named
    whose = [{name.split("/")[1] for name in numbers if name.startswith("clients/")} for numbers in rounds]
    first = set(map(str, records[0]["clients"][:3]))
    assert whose[:2] == [first, first]
    assert whose[-1] == first | set(map(str, found[:3]))
    assert rounds[-1]["spread/norm/max"] == max(records[-1]["diagnostics"]["norms"])  # of all the same


def test_the_page_on_integrations_names_all_that_is_sent_and_nothing_else(tmp_path):
    runs = [RUN, watched_run(), tiny_run("multi_krum"), RUN.replace(minority=upside_down, minority_share=0.2)]
    sent = {name for run in runs for numbers in numbers_of(run, tmp_path)[0] for name in numbers}
    page = (Path(__file__).parent.parent.parent / "docs" / "integrations.md").read_text()
    table = page.partition("## Trackers")[2].partition("\n## ")[0]
    names = "".join(line.split("|")[1] for line in table.splitlines() if line.startswith("|"))
    told = re.findall("`(.+?)`", names)
    assert sorted({re.sub(r"clients/\d+/", "clients/ID/", name) for name in sent}) == sorted(told)


def upside_down(x):
    return -x


def expected(result, name):
    return {number: pytest.approx(value) for number, value in enumerate(result.series(name), start=1)}


def test_tensorboard_gets_every_number_and_a_second_time_replaces_the_first(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed (pip install '.[tensorboard]')")
    from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

    run = watched_run()
    for _ in range(2):
        tracker = tracker_named(f"tensorboard:{tmp_path / 'board'}")
        list(track(run_and_record(run, tmp_path / "results"), tracker))
    rounds, notes = numbers_of(run, tmp_path / "results")
    found = EventAccumulator(str(tmp_path / "board" / run.key))
    found.Reload()
    assert set(found.Tags()["scalars"]) == {name for numbers in rounds for name in numbers}
    for name in found.Tags()["scalars"]:
        wanted = {step: pytest.approx(one[name]) for step, one in enumerate(rounds, 1) if name in one}
        assert {event.step: event.value for event in found.Scalars(name)} == wanted
        assert len(found.Scalars(name)) == len(wanted)
    texts = {event.step: event.tensor_proto.string_val[0].decode() for event in found.Tensors("verdicts")}
    assert {step: textwrap.dedent(text).rstrip() for step, text in texts.items()} == notes
    assert tracker.where == f"tensorboard --logdir {tmp_path / 'board' / run.key}"


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
    mlflow = pytest.importorskip("mlflow", reason="mlflow is not installed (pip install '.[mlflow]')")
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")  # a database needs more than the client
    monkeypatch.setattr("holdfast.runs.tracking.on_mlflow.MOST_METRICS", 100)  # less than a round has
    wanted, uri = watched_run(), (tmp_path / "mlruns").as_uri()
    tracker = tracker_named(f"mlflow:{uri}")
    *_, result = track(run_and_record(wanted, tmp_path / "results"), tracker)
    client = mlflow.MlflowClient(uri)
    (run,) = client.search_runs([client.get_experiment_by_name("holdfast").experiment_id])
    assert run.info.status == "FINISHED"
    assert (run.data.params["key"], run.data.params["defence"]) == (wanted.key, "factions+fedavg")
    assert run.data.tags["holdfast.run"] == result.described
    rounds, notes = numbers_of(wanted, tmp_path / "results")
    for name in {name for numbers in rounds for name in numbers}:
        history = client.get_metric_history(run.info.run_id, name)
        sent = {step: pytest.approx(one[name]) for step, one in enumerate(rounds, 1) if name in one}
        assert {metric.step: metric.value for metric in history} == sent
    assert run.data.tags["holdfast.verdicts"].split("\n\n")[0] == notes[max(notes)]
    assert tracker.where == f"run {run.info.run_id} in {uri}"


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
    wandb = pytest.importorskip("wandb", reason="wandb is not installed (pip install '.[wandb]')")
    from wandb.proto.wandb_internal_pb2 import Record

    for name, value in {"MODE": "offline", "DIR": str(tmp_path), "SILENT": "true"}.items():
        monkeypatch.setenv(f"WANDB_{name}", value)
    run, tracker = watched_run(), tracker_named("wandb:trial")
    list(track(run_and_record(run, tmp_path / "results"), tracker))
    wandb.teardown()  # waits for the process that writes the file
    (path,) = glob.glob(str(tmp_path / "wandb" / "offline-run-*" / "*.wandb"))
    assert tracker.where == f"wandb sync {Path(path).parent}"
    records = [Record.FromString(message) for message in stored_by_wandb(path)]
    assert [record.run.run_id for record in records if record.HasField("run")][:1] == [run.key]
    stored = [
        {"/".join(item.nested_key) or item.key: json.loads(item.value_json) for item in record.history.item}
        for record in records
        if record.HasField("history")
    ]
    rounds, notes = numbers_of(run, tmp_path / "results")
    for one, numbers in zip(stored, rounds, strict=True):
        assert {name: one[name] for name in numbers} == pytest.approx(numbers)
    tables = {one["_step"]: one for one in stored if any(name.startswith("verdicts") for name in one)}
    assert set(tables) == set(notes)
    assert len(
        glob.glob(str(tmp_path / "wandb" / "offline-run-*" / "files" / "media" / "table" / "*"))
    ) == len(notes)


def test_no_tracker_is_imported_unless_asked_for():
    code = (
        "import sys, holdfast.runs.tracking, holdfast.cli.run\n"
        "assert not {'tensorboard', 'mlflow', 'wandb'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_tracker_that_is_not_installed_names_what_to_install(monkeypatch):
    monkeypatch.setattr("holdfast.runs.tracking.find_spec", lambda name: None)
    with pytest.raises(
        InputError, match=r"mlflow is not installed; in a checkout: pip install '\.\[mlflow\]'"
    ):
        tracker_named("mlflow")


def holdfast_run(*words):
    from holdfast.cli.commands import app

    return CliRunner().invoke(app, ["run", "phishing", *map(str, words)])


def test_the_command_tracks_a_run(tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed (pip install '.[tensorboard]')")
    numbers = ["--rounds=2", "--clients=12", "--per-round=6", "--set=n_train=600", "--set=n_test=100"]
    place = ["--out", tmp_path / "results", "--report", tmp_path / "run.html"]
    done = holdfast_run(*numbers, *place, "--track", f"tensorboard:{tmp_path}/b")
    assert done.exit_code == 0, done.output
    (events,) = (tmp_path / "b").glob("*/events*")
    opened = f"tensorboard --logdir {events.parent}"
    assert f"TensorBoard: {opened}\n" in done.stdout
    assert f"<li>TensorBoard: <code>{opened}</code></li>" in (tmp_path / "run.html").read_text()


def test_a_misspelt_tracker_is_answered_before_anything_is_run(tmp_path):
    done = holdfast_run("--out", tmp_path, "--track", "tensorbord")
    assert done.exit_code == 1
    assert "no tracker 'tensorbord'; did you mean 'tensorboard'?" in done.stderr
    assert not list(tmp_path.iterdir())
