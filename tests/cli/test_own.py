"""A file of one's own, with data, attack and rule, through every command."""

import json
import sys
from pathlib import Path

import pytest

from .test_run import holdfast

EXAMPLE = Path(__file__).parents[2] / "examples" / "own_task.py"
pytestmark = pytest.mark.skipif(not EXAMPLE.exists(), reason="no examples beside the tests")
FEW = ("--rounds", 2, "--set", "n=400")


@pytest.fixture
def mine(tmp_path, monkeypatch):
    """Return the example as a file of its own, which no other test has imported."""
    monkeypatch.setattr(sys, "path", [*sys.path])
    path = tmp_path / "mine_own.py"
    path.write_text(EXAMPLE.read_text())
    yield path
    sys.modules.pop("mine_own", None)


def told(*words):
    result = holdfast(*words, "--json")
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_a_file_is_listed(mine):
    listed = told("list", "--from", mine)
    assert {kind: [one["name"] for one in entries] for kind, entries in listed.items()} == {
        "tasks": ["task"],
        "attacks": ["attack"],
        "defences": ["middle"],
        "watches": [],
    }
    assert listed["attacks"][0]["settings"]["louder.factor"] == 3.0
    shown = holdfast("list", "defences", "--from", mine)
    assert "middle" in shown.output
    assert f"holdfast compare {mine}" in shown.output.replace("\n", "")
    assert "middle" not in holdfast("list").output
    assert holdfast("list", "nothing").exit_code == 2


def test_a_file_is_run_with_a_page_and_a_tracker(mine, tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    words = ("run", mine, "--attack", "corner", "--defence", "mine_own.middle", "--watch", "factions", *FEW)
    words = (*words, "--set", "hearing=0")
    page, logs = tmp_path / "mine.html", tmp_path / "logs"
    found = told(*words, "--out", tmp_path, "--report", page, "--track", f"tensorboard:{logs}")
    assert found["report"] == str(page)
    assert found["description"]["defence"]["aggregate"].startswith("middle()#")
    assert len(found["records"]) == 2
    (row, *_) = found["records"][1]["diagnostics"]["norms"]
    assert row > 0  # a rule of one's own is measured like ours
    assert "rings, attack corner, defence factions+middle, seed 0" in page.read_text(encoding="utf-8")
    assert list(logs.rglob("events.*"))


def test_an_edited_rule_is_run_again_and_the_old_result_stays(mine, tmp_path):
    alone = ("--out", tmp_path, "--resume", "--no-unattacked")
    words = ("run", mine, "--attack", "corner", "--defence", "middle", *FEW, *alone)
    before, again = told(*words), told(*words)
    assert again["records"] == before["records"]
    mine.write_text(EXAMPLE.read_text().replace("np.median(", "np.mean("))
    after = told(*words)
    assert after["key"] != before["key"]
    assert after["records"][-1]["accuracy"] != before["records"][-1]["accuracy"]
    assert {path.stem for path in (tmp_path / "runs").glob("*.json")} == {before["key"], after["key"]}


@pytest.mark.slow
def test_a_file_is_compared_by_worker_processes_and_reported(mine, tmp_path):
    words = ("compare", mine, "--defences", "fedavg,mine_own.middle", "--seeds", "3,5", *FEW)
    page = tmp_path / "mine.html"
    found = told(*words, "--out", tmp_path, "--report", page, "--workers", 2, "--baseline", "fedavg")
    assert (found["task"], found["attack"], found["seeds"]) == ("rings", "corner", [3, 5])
    plain, middle = found["standings"]
    assert (plain["defence"], middle["defence"]) == ("fedavg", "middle")
    assert len(middle["accuracy"]["values"]) == 2
    assert found["files"][0] == str(page)
    assert "middle" in page.read_text(encoding="utf-8")
    whole = tmp_path / "all.html"
    assert told("report", mine, "--results", tmp_path, "--out", whole)["file"] == str(whole)
    text = whole.read_text(encoding="utf-8")
    assert all(name in text for name in ("rings: 2 rounds", "fedavg", "middle", "corner", "none"))
    table = tmp_path / "all.md"
    assert (
        holdfast("report", mine, "--results", tmp_path, "--format", "markdown", "--out", table).exit_code == 0
    )
    assert "| middle | " in table.read_text()
    assert holdfast("report", mine, "table1", "--results", tmp_path).exit_code == 1


def test_a_rule_of_ones_own_stands_beside_ours_on_a_task_that_comes_with_holdfast(
    mine, tmp_path, monkeypatch
):
    monkeypatch.chdir(mine.parent)
    few = ("--scale", "smoke", "--rounds", 1, "--seeds", 1, "--out", tmp_path)
    found = told("compare", "phishing", "--defences", "fedavg,factions+mine_own.middle", *few)
    assert [one["defence"] for one in found["standings"]] == ["fedavg", "factions+mine_own.middle"]
    assert "factions+mine_own.middle" in found["conclusion"]["command"]  # which would work as well
    for names, said in (
        ("mine_own.muddle", "no defence 'mine_own.muddle'; did you mean 'mine_own.middle'?"),
        ("nobodys.middle", "no module 'nobodys'"),
        ("mine_own.middle+other.middle", "must be in one file; got names from mine_own and other"),
    ):
        assert said in holdfast("compare", "phishing", "--defences", names, *few).output


def test_so_do_an_attack_and_a_watch_of_ones_own_and_the_command_to_type_next_names_them_in_full(
    mine, tmp_path, monkeypatch
):
    mine.write_text(
        "from dataclasses import replace\n"
        "from holdfast import factions\n"
        "from holdfast.lab import attack_named, task_named\n"
        "keen = factions(hearing=1)\n"
        "ours = replace(attack_named('edge-case', task_named('phishing', scale='smoke')), name='corner')\n"
    )
    monkeypatch.chdir(mine.parent)
    few = ("--scale", "smoke", "--rounds", 1, "--out", tmp_path)
    found = told("run", "phishing", "--attack", "mine_own.ours+collude", "--watch", "mine_own.keen", *few)
    command = found["conclusion"]["command"]
    assert "--attack mine_own.corner+collude" in command
    assert "--defence mine_own.keen+fedavg" in command
    words = command.split()[1 : command.split().index("--out")]
    assert holdfast(*words, *few).exit_code == 0, command


def test_a_file_with_a_mistake_is_answered_in_one_line(mine, tmp_path):
    mine.write_text("task = 3\n")
    for command in ("run", "compare"):
        result = holdfast(command, mine, "--out", tmp_path / "out")
        assert result.exit_code == 1
        assert "holds no task: write task = holdfast.lab.Task(...) into it" in result.stderr
        assert len(result.stderr.strip().splitlines()) == 1
    assert not (tmp_path / "out").exists()
