import json

import pytest

from holdfast._support.keys import key_of
from holdfast.paper.studies import analyses_of, load_or_make_study
from holdfast.runs.store import files_of, write_entry

from ..runs.tiny import made, stop_after, tiny_run
from .test_run import holdfast


@pytest.fixture
def folder(tmp_path):
    """Return a folder with a finished run, one in the making, one that cannot be used, and a study."""
    made(tiny_run("median"), tmp_path / "runs")
    stop_after(2, tiny_run(), tmp_path / "runs")
    broken = tiny_run(seed=1)
    made(broken, tmp_path / "runs")
    path = files_of(broken.key, tmp_path / "runs").result
    path.write_text(json.dumps(json.loads(path.read_text()) | {"code": 99}))
    run = tiny_run(attack="edge-case")
    load_or_make_study(analyses_of("figure5", scale="smoke")["mimicry"], run, tmp_path)
    return tmp_path


def test_everything_stored_is_listed_one_line_each_and_what_cannot_be_used_with_the_reason(folder):
    listed = holdfast("results", "list", folder)
    assert listed.exit_code == 0, listed.output
    lines = listed.stdout.splitlines()
    (median,) = [line for line in lines if "median()" in line]
    assert median.startswith(f"{tiny_run('median').key}  phishing  edge-case  median()  seed 0  Acc ")
    assert f"{tiny_run().key}  phishing  edge-case  fedavg()  seed 0  2 of 3 rounds" in lines
    assert any("phishing  mimicry(n_kept=(), n_pairs=2)  seed 0" in line for line in lines)
    (said,) = listed.stderr.splitlines()
    assert tiny_run(seed=1).key in said
    assert "cannot be used: it was made in code epoch 99" in said


def stored(folder, description, **content):
    """Write an entry that has the key of its description, whatever that is."""
    write_entry(folder / f"{key_of(description)}.json", description, data=None, **content)


@pytest.mark.parametrize("run", [None, [], {}, {"seed": "x"}, {"seed": 1}, {"seed": 1, "task": 3}])
def test_a_study_of_nothing_ends_no_list(folder, run):
    stored(folder / "studies", {"study": "mimicry()", "run": run}, found={})
    listed = holdfast("results", "list", folder)
    assert listed.exit_code == 0, listed.output
    assert "cannot be used: it is not a study of a run" in listed.stderr


def test_what_others_wrote_into_a_result_cannot_write_on_the_screen(folder):
    description = tiny_run("median").description
    wild = {**description, "attack": {**description["attack"], "name": "\x1b[2J\nall is well"}}
    made_of = json.loads(files_of(tiny_run("median").key, folder / "runs").result.read_text())
    content = {name: made_of[name] for name in ("device", "finished", "records")}
    stored(folder / "runs", wild, **content)
    listed = holdfast("results", "list", folder)
    assert listed.exit_code == 0, listed.output
    assert r"phishing  \x1b[2J\nall is well  median()" in listed.stdout


def test_packing_changes_nothing_of_the_list(folder):
    before = json.loads(holdfast("results", "list", folder, "--json").stdout)
    done = holdfast("results", "pack", folder)
    assert done.stdout == f"Packed in {folder}: runs 2, studies 1.\n"  # the clean run behind the study, too
    assert {path.name for path in folder.rglob("*.jsonl")} == {"phishing.jsonl"}
    assert json.loads(holdfast("results", "list", folder, "--json").stdout) == before


@pytest.mark.parametrize("command", ["list", "pack"])
def test_a_folder_that_is_not_there_is_an_error(command, tmp_path):
    done = holdfast("results", command, tmp_path / "nowhere")
    assert done.exit_code == 1
    assert done.stderr.startswith(f"no results at {tmp_path / 'nowhere'}: make some with 'holdfast run'")


def test_an_empty_folder_holds_no_results(tmp_path):
    done = holdfast("results", "list", tmp_path)
    assert done.exit_code == 0
    assert (done.stdout, done.stderr) == ("", f"There are no results in {tmp_path} yet.\n")
