"""Loose and packed entries: what is checked, what is listed, what packing changes."""

import errno
import json
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.errors import DataError
from holdfast.runs import store
from holdfast.runs.recording import find_current, run_and_record
from holdfast.runs.results import find_result, list_results, pack_results
from holdfast.runs.store import checked, files_of

from .tiny import load_result, made, stop_after, tiny_run


def edit(path, **changes):
    path.write_text(json.dumps(json.loads(path.read_text()) | changes))


def test_the_key_of_a_run_is_that_of_its_entry(tmp_path):
    run = tiny_run()
    assert made(run, tmp_path).key == run.key
    assert (
        checked(files_of(run.key, tmp_path).result.read_bytes(), key=run.key)["description"]
        == run.description
    )


def test_a_packed_result_says_what_the_loose_one_said(tmp_path):
    runs = [tiny_run("invariant"), tiny_run(seed=1)]
    loose = [made(run, tmp_path) for run in runs]
    assert sorted(pack_results(tmp_path)) == sorted(run.key for run in runs)
    assert [path.name for path in tmp_path.iterdir() if path.suffix != ".npz"] == ["phishing.jsonl"]
    for run, before in zip(runs, loose, strict=True):
        after = load_result(run, tmp_path)
        assert (after.summary, after.described) == (before.summary, before.described)
        assert (after.version, after.data, after.device) == (before.version, before.data, before.device)
        assert after.finished
        assert after.records == ()


def test_packing_gives_the_same_bytes_in_any_order(tmp_path):
    runs = [tiny_run(seed=seed) for seed in range(3)]
    for run in runs:
        made(run, tmp_path / "once")
    for run in reversed(runs):
        (tmp_path / "bits").mkdir(exist_ok=True)
        name = f"{run.key}.json"
        (tmp_path / "bits" / name).write_bytes((tmp_path / "once" / name).read_bytes())
        assert pack_results(tmp_path / "bits") == [run.key]
    pack_results(tmp_path / "once")
    packed = (tmp_path / "once" / "phishing.jsonl").read_bytes()
    assert packed == (tmp_path / "bits" / "phishing.jsonl").read_bytes()
    keys = [json.loads(line)["key"] for line in packed.splitlines()]
    assert keys == sorted(run.key for run in runs)


def test_a_result_that_is_made_again_takes_the_place_of_the_packed_one(tmp_path):
    run = tiny_run()
    made(run, tmp_path)
    pack_results(tmp_path)
    again = made(run, tmp_path, resume=False)
    assert load_result(run, tmp_path).series("seconds") == again.series("seconds")
    pack_results(tmp_path)
    (result,), unusable = list_results(tmp_path)
    assert (result.series("seconds"), unusable) == (again.series("seconds"), {})


def test_what_is_not_finished_or_not_usable_is_not_packed(tmp_path):
    stop_after(2, tiny_run(), tmp_path)
    broken = tiny_run(seed=1)
    made(broken, tmp_path)
    edit(files_of(broken.key, tmp_path).result, data=5, code=99)
    before = {path: path.read_bytes() for path in tmp_path.iterdir()}
    assert pack_results(tmp_path) == []
    assert {path: path.read_bytes() for path in tmp_path.iterdir()} == before


def test_the_lock_of_a_packer_that_was_killed_is_in_nobodys_way(tmp_path):
    run = tiny_run()
    made(run, tmp_path)
    (tmp_path / "pack.lock").touch()
    assert pack_results(tmp_path) == [run.key]
    assert not (tmp_path / "pack.lock").exists()


def test_a_loose_file_that_is_replaced_while_it_is_packed_stays(tmp_path, monkeypatch):
    run = tiny_run()
    made(run, tmp_path)
    write = store.write_whole

    def made_again_meanwhile(path, content):
        monkeypatch.undo()
        made(run, tmp_path, resume=False)
        write(path, content)

    monkeypatch.setattr(store, "write_whole", made_again_meanwhile)
    pack_results(tmp_path)
    assert load_result(run, tmp_path).records


def test_a_result_that_is_being_made_again_is_not_packed_away(tmp_path):
    run = tiny_run()
    made(run, tmp_path)
    again = run_and_record(run, tmp_path, resume=False)
    next(again)
    pack_results(tmp_path)
    assert load_result(run, tmp_path).records
    again.close()
    pack_results(tmp_path)
    assert not load_result(run, tmp_path).records


@pytest.mark.parametrize("is_packed", [False, True])
@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"code": 99}, "it was made in code epoch 99"),
        ({"description": {"task": {"name": "phishing"}}}, "its description does not give its key"),
        ({"device": None, "records": "none"}, "it is not the result of a run, or is damaged"),
    ],
)
def test_what_cannot_be_used_is_listed_with_the_reason(tmp_path, is_packed, changes, reason):
    good, bad = tiny_run(), tiny_run(seed=1)
    made(good, tmp_path)
    made(bad, tmp_path)
    if is_packed:
        pack_results(tmp_path)
        path = tmp_path / "phishing.jsonl"
        lines = [json.loads(line) for line in path.read_text().splitlines()]
        changes = {"summary": {"rounds": 3}} if "records" in changes else changes
        lines = [line | (changes if line["key"] == bad.key else {}) for line in lines]
        path.write_text("".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines))
    else:
        edit(files_of(bad.key, tmp_path).result, **changes)
    results, unusable = list_results(tmp_path)
    assert [result.key for result in results] == [good.key]
    ((where, why),) = unusable.items()
    assert bad.key in where
    assert reason in why
    result, reasons = find_result(bad, tmp_path)
    assert result is None
    assert reason in reasons[0]
    with pytest.raises(DataError, match=reason):
        load_result(bad, tmp_path)


def unreadable(folder):
    """Put what looks like results and cannot be read into a folder; return the names."""
    (folder / "folder.json").mkdir()
    (folder / "folder.jsonl").mkdir()
    (folder / "folder.making.json").mkdir()
    (folder / "gone.json").symlink_to("nowhere")
    (folder / "gone.jsonl").symlink_to("nowhere")
    return ["folder.json", "folder.jsonl", "folder.making.json", "gone.json", "gone.jsonl"]


def test_files_that_cannot_be_read_end_no_listing_and_no_packing(tmp_path):
    run = tiny_run()
    made(run, tmp_path)
    names = unreadable(tmp_path)
    (result,), unusable = list_results(tmp_path)
    assert result.key == run.key
    assert sorted(where.rpartition("/")[2] for where in unusable) == names
    assert all("cannot be read: " in why for why in unusable.values())
    assert pack_results(tmp_path) == [run.key]
    assert load_result(run, tmp_path).finished


@pytest.mark.parametrize("ending", [".json", ".making.json"])
def test_a_file_that_cannot_be_read_ends_no_resume(tmp_path, monkeypatch, ending):
    run = tiny_run()
    (tmp_path / f"{run.key}{ending}").write_bytes(b"")
    denied = PermissionError(errno.EACCES, "Permission denied")
    monkeypatch.setattr(Path, "read_bytes", raising(denied))
    result, (reason,) = find_result(run, tmp_path)
    assert result is None
    assert "cannot be read: Permission denied" in reason


def raising(error):
    def raise_it(*_):
        raise error

    return raise_it


WILD = "\x1b[2J\n" + "x" * 10_000 + "\ud800"


@pytest.mark.parametrize("name", ["key", "code", "data", "version"])
def test_what_is_said_of_a_result_is_short_and_can_be_printed(tmp_path, name):
    run = tiny_run()
    made(run, tmp_path)
    edit(files_of(run.key, tmp_path).result, **{name: [WILD] if name == "version" else WILD})
    _, reasons = find_current(run, tmp_path)
    _, unusable = list_results(tmp_path)
    for reason in (*reasons, *unusable.values()):
        assert reason.isprintable()
        assert len(reason) < 500


def test_files_that_are_no_results_are_listed(tmp_path):
    (tmp_path / "notes.json").write_text("[1, 2]")
    (tmp_path / "notes.jsonl").write_text("hello\n")
    results, unusable = list_results(tmp_path)
    assert results == []
    assert {where.rpartition("/")[2] for where in unusable} == {"notes.json", "notes.jsonl"}
    assert all("it is not a result, or a damaged one" in why for why in unusable.values())


def test_an_outdated_loose_file_does_not_hide_a_packed_result(tmp_path):
    run = tiny_run()
    made(run, tmp_path)
    loose = files_of(run.key, tmp_path).result
    content = loose.read_text()
    pack_results(tmp_path)
    loose.write_text(content)
    edit(loose, code=99)
    result, unusable = find_result(run, tmp_path)
    assert result.finished
    assert "code epoch 99" in unusable[0]


def test_a_name_that_is_no_file_name_is_packed_all_the_same(tmp_path):
    run = tiny_run().replace(name="../my task")
    made(run, tmp_path / "runs")
    pack_results(tmp_path / "runs")
    assert [path.name for path in (tmp_path / "runs").glob("*.json*")] == ["..-my-task.jsonl"]
    assert load_result(run, tmp_path / "runs").finished


@pytest.mark.parametrize("cut", [0.2, 0.6])
def test_a_result_of_fewer_rounds_than_it_says_is_damaged(tmp_path, cut):
    run = tiny_run(n_rounds=5)
    made(run, tmp_path)
    path = files_of(run.key, tmp_path).result
    records = json.loads(path.read_text())["records"]
    edit(path, records=records[: int(5 * cut)])
    with pytest.raises(DataError, match="it is damaged: of the 5 rounds"):
        load_result(run, tmp_path)
    edit(path, records=[records[1], records[0], *records[2:]])
    with pytest.raises(DataError, match="it is damaged"):
        load_result(run, tmp_path)


CODE = """
import sys
sys.modules["torch"] = None
from pathlib import Path
from holdfast.runs.results import list_results
results, unusable = list_results(Path(sys.argv[1]))
print(len(results), unusable)
"""


def test_results_are_read_without_torch(tmp_path):
    made(tiny_run(), tmp_path)
    pack_results(tmp_path)
    made(tiny_run(seed=1), tmp_path)
    done = subprocess.run(
        [sys.executable, "-c", CODE, str(tmp_path)],
        capture_output=True, text=True, cwd=Path(__file__).parent.parent.parent,
    )  # fmt: skip
    assert done.stdout == "2 {}\n", done.stderr
