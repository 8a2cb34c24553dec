"""Everything from end to end, at the smallest scale, and killed at a random moment."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from holdfast.cli.commands import app
from holdfast.paper import EXPERIMENTS, judge_claims
from holdfast.paper.evidence import STUDIES

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parent.parent.parent
RUNNER = CliRunner()
HERE = ["--scale", "smoke", "--tasks", "phishing"]


def reproduce(*arguments):
    return RUNNER.invoke(app, ["reproduce", *map(str, arguments)])


def tables(folder):
    return {path.name: path.read_text() for path in sorted((folder / "tables").rglob("*")) if path.is_file()}


def test_everything_runs_from_end_to_end_and_a_second_time_is_only_read(tmp_path):
    done = reproduce("all", *HERE, "--out", tmp_path, "--json")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert [one["name"] for one in found["experiments"]] == [*EXPERIMENTS]  # studies are of digits
    for one in found["experiments"]:
        for cell in one["cells"]:
            assert (cell["measured"] is not None) == (cell["task"] == "phishing"), cell
    assert found["claims"] == []
    measured = [one for one in judge_claims(found["experiments"]) if one["verdict"] != "not measured"]
    assert {"claim-1", "claim-10a", "figure-6a", "headline-4"} <= {one["id"] for one in measured}
    assert {one["task"] for one in measured} == {"phishing"}
    written = tables(tmp_path)
    assert set(written) == {f"{name}.md" for name in EXPERIMENTS}
    models = {path.stem for path in (tmp_path / "runs").glob("*.npz")}
    assert not models & set(found["runs"])

    again = reproduce("table1", *HERE, "--out", tmp_path)
    assert again.exit_code == 0, again.output
    assert "Table 1: defences against the edge-case attack" in again.stdout
    assert "Claims" not in again.stdout
    assert "The scale smoke shows that everything runs. It says nothing about the claims." in again.stdout
    assert tables(tmp_path) == written


def test_two_tasks_stand_in_one_table_and_in_one_claim_and_studies_run(tmp_path):
    both = ["--scale", "smoke", "--tasks", "phishing,digits", "--out", tmp_path, "--json"]
    done = reproduce("table1", *STUDIES, *both)
    assert done.exit_code == 0, done.output
    table, *studies = json.loads(done.stdout)["experiments"]
    assert [one["name"] for one in studies] == [*STUDIES]
    assert all(cell["measured"] for one in studies for cell in one["cells"] if cell["task"] == "digits")
    assert {cell["task"] for cell in table["cells"] if cell["measured"]} == {"phishing", "digits"}
    measured = [one for one in judge_claims([table]) if one["verdict"] != "not measured"]
    assert "phishing + digits" in {one["task"] for one in measured}


COMMAND = [
    sys.executable, "-c", "from holdfast.cli import main; main()",
    "reproduce", "table8", "table10", "--scale", "smoke", "--seeds", "2", "--tasks", "phishing", "--out",
]  # fmt: skip


def test_killed_at_random_moments_and_done_again_gives_the_same_tables(tmp_path):
    whole = subprocess.run([*COMMAND, str(tmp_path / "whole")], cwd=ROOT, capture_output=True, text=True)
    assert whole.returncode == 0, whole.stderr
    parts, rng = tmp_path / "parts", np.random.default_rng()
    n_before = 0
    for _ in range(2):
        killed = subprocess.Popen([*COMMAND, str(parts)], cwd=ROOT, stdout=subprocess.DEVNULL)
        while len(list(parts.rglob("*.json"))) == n_before and killed.poll() is None:
            time.sleep(0.01)
        time.sleep(rng.uniform(0, 0.2))
        killed.send_signal(signal.SIGKILL)
        assert killed.wait() == -signal.SIGKILL, "it ended before it was killed"
        n_before = len(list(parts.rglob("*.json")))
    assert n_before > 0
    assert not (parts / "tables").exists()
    last = subprocess.run([*COMMAND, str(parts)], cwd=ROOT, capture_output=True, text=True)
    assert last.returncode == 0, last.stderr
    assert tables(parts) == tables(tmp_path / "whole")


def heard():
    """Let an interrupt come through, which a shell keeps from what it starts in the background."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_an_interrupt_ends_it_in_a_word_and_keeps_what_is_done(tmp_path):
    going = subprocess.Popen(
        [*COMMAND, str(tmp_path)],
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=heard,
    )
    while not list(tmp_path.rglob("*.json")) and going.poll() is None:
        time.sleep(0.01)
    going.send_signal(signal.SIGINT)
    _, said = going.communicate(timeout=120)
    assert going.returncode == 130
    assert "Finished runs are stored in" in said
    assert "To resume: holdfast reproduce " in said
    assert "Traceback" not in said
    assert list(tmp_path.rglob("*.json"))


def test_a_dry_run_shows_the_plan_and_makes_nothing(tmp_path):
    out = tmp_path / "results"
    done = reproduce("table8", *HERE, "--out", out, "--dry-run", "--workers", 2)
    assert done.exit_code == 0, done.output
    assert "Missing runs" in done.stdout
    assert "Time on 2 workers: unknown: no round of phishing made yet." in done.stdout
    plan = json.loads(reproduce("table8", *HERE, "--out", out, "--dry-run", "--json").stdout)
    assert (plan["n_runs"], plan["n_missing"], plan["n_rounds_missing"]) == (15, 5, 10)
    assert plan["seconds_unknown_for"] == ["phishing"]
    assert not out.exists()


def test_a_setting_is_changed_in_every_run_that_has_it_and_no_claim_is_judged(tmp_path):
    sizes = [*HERE, "--out", tmp_path, "--json"]
    plain = json.loads(reproduce("table4", *sizes).stdout)
    done = reproduce("table4", *sizes, "--set", "invariant.tau=0.9")
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["claims"] == []
    cells = found["experiments"][0]["cells"]
    changed = {
        cell["row"]
        for cell, before in zip(cells, plain["experiments"][0]["cells"], strict=True)
        if cell["keys"] != before["keys"]
    }
    assert changed == {cell["row"] for cell in cells if cell["defence"] == "invariant"} != set()
    (mine,) = [cell for cell in cells if (cell["row"], cell["task"]) == ("Invariant", "phishing")]
    assert "tau=0.9" in json.dumps(found["runs"][mine["keys"][0]])
    assert {path.parent.name for path in (tmp_path / "tables").rglob("*.md")} == {"smoke", "smoke-set"}


def test_a_plan_knows_its_cost_from_what_was_made(tmp_path):
    only = ["--scale", "smoke", "--tasks", "phishing", "--out", tmp_path]
    assert reproduce("table9", *only).exit_code == 0  # nothing of phishing in it
    assert json.loads(reproduce("table8", *only, "--dry-run", "--json").stdout)["n_missing"] == 5
    assert reproduce("table8", *only, "--workers", 1).exit_code == 0
    plan = json.loads(reproduce("figure6a", *only, "--dry-run", "--json").stdout)
    assert plan["seconds"] > 0
    assert plan["seconds_unknown_for"] == []
    assert plan["n_missing"] == 7  # one of the eight is a run of table 8


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        (["tabel1"], "did you mean 'table1'"),
        (["table1", "--tasks", "mnist"], "no experiment on 'mnist'"),
        (["table1", "--scale", "huge"], "scale must be one of"),
        (["table1", "--workers", "none"], "--workers"),
        (["table1", "--workers", "0"], "--workers"),
    ],
)
def test_what_makes_no_sense_is_answered(wrong, said, tmp_path):
    done = reproduce(*wrong, "--out", tmp_path)
    assert done.exit_code != 0
    assert said in done.output
    assert os.listdir(tmp_path) == []
