import json
import os
import pickle
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from holdfast.errors import DataError
from holdfast.runs.checkpoints import load_checkpoint
from holdfast.runs.results import checkpoint_path, load_result, result_path, run_and_record

from .killed import RUN
from .tiny import tiny_run


def made(run, folder, **options):
    *_, result = run_and_record(run, folder, **options)
    return result


def timeless(result):
    return [{**record, "seconds": None} for record in result.records]


def same(run, one, other):
    """Hold the records and the final state of two folders against each other, bit for bit."""
    assert timeless(load_result(run, one)) == timeless(load_result(run, other))
    with np.load(checkpoint_path(run, one)) as a, np.load(checkpoint_path(run, other)) as b:
        assert a.files == b.files
        for name in a.files:
            assert a[name].tobytes() == b[name].tobytes(), name


def stopped(run, folder, *, after, every=1):
    """Make some rounds of a run and leave it."""
    for result in run_and_record(run, folder, every=every):
        if len(result.records) == after:
            return


def test_a_result_says_all_that_happened(tmp_path):
    run = tiny_run("invariant")
    stored = json.loads(result_path(run, tmp_path).read_text()) if made(run, tmp_path) else {}
    assert stored["run"] == run.described
    assert (stored["task"], stored["attack"], stored["defence"]) == ("phishing", "edge-case", "invariant")
    assert stored["finished"] is True
    assert [record["round"] for record in stored["records"]] == [1, 2, 3]
    record = stored["records"][0]
    assert set(record["attackers"]) <= set(record["clients"])
    assert len(record["attackers"]) == record["n_attackers"]
    assert record["diagnostics"]["dropped"] == []
    assert 0 <= record["diagnostics"]["kept_fraction"] <= 1
    for name in ("norms", "cosines", "opposed_share", "trimmed_share"):
        assert len(record["diagnostics"][name]) == 6
    assert not list(tmp_path.glob("*.partial"))


@pytest.mark.parametrize("defence", ["sparsefed", "fltrust", "weak_dp", "centered_clipping", "invariant"])
def test_a_run_that_goes_on_is_the_same_to_the_bit(tmp_path, defence):
    run = tiny_run(defence, "edge-case+adaptive", n_rounds=5)
    made(run, tmp_path / "whole")
    stopped(run, tmp_path / "parts", after=3, every=2)
    assert load_checkpoint(checkpoint_path(run, tmp_path / "parts"), run).round == 2
    rounds = [len(result.records) for result in run_and_record(run, tmp_path / "parts")]
    assert rounds == [2, 3, 4, 5]
    same(run, tmp_path / "whole", tmp_path / "parts")


def test_ten_kills_at_random_moments_change_nothing(tmp_path):
    made(RUN, tmp_path / "whole", every=10)
    command = [sys.executable, "-m", "tests.runs.killed", str(tmp_path / "parts")]
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    rng, reached = np.random.default_rng(), []
    with subprocess.Popen(command, cwd=Path(__file__).parent.parent.parent, **pipes) as nursery:
        for _ in range(10):
            print("go", file=nursery.stdin, flush=True)
            pid = int(nursery.stdout.readline())
            assert nursery.stdout.readline() == "begun\n"
            time.sleep(rng.uniform(0, 0.1))
            os.kill(pid, signal.SIGKILL)
            assert nursery.stdout.readline() == f"{-signal.SIGKILL}\n", "the run ended before it was killed"
            path = checkpoint_path(RUN, tmp_path / "parts")
            reached.append(load_checkpoint(path, RUN).round if path.exists() else 0)
        nursery.stdin.close()
    assert reached == sorted(reached)
    assert 0 < reached[-1] < RUN.task.n_rounds
    made(RUN, tmp_path / "parts")
    same(RUN, tmp_path / "whole", tmp_path / "parts")
    assert not list((tmp_path / "parts").glob("*.partial"))


def test_records_beyond_the_checkpoint_are_made_again(tmp_path):
    run = tiny_run("sparsefed", n_rounds=4)
    made(run, tmp_path / "whole")
    stopped(run, tmp_path / "parts", after=2, every=2)
    kept = checkpoint_path(run, tmp_path / "parts").read_bytes()
    made(run, tmp_path / "parts", every=1)
    checkpoint_path(run, tmp_path / "parts").write_bytes(kept)  # killed after the records, before the state
    stored = json.loads(result_path(run, tmp_path / "parts").read_text()) | {"finished": False}
    result_path(run, tmp_path / "parts").write_text(json.dumps(stored))
    assert next(run_and_record(run, tmp_path / "parts")).series("round") == [1, 2]
    made(run, tmp_path / "parts")
    same(run, tmp_path / "whole", tmp_path / "parts")


def test_a_finished_run_is_only_read(tmp_path):
    run = tiny_run()
    made(run, tmp_path)
    before = result_path(run, tmp_path).stat().st_mtime_ns
    assert [result.finished for result in run_and_record(run, tmp_path)] == [True]
    assert result_path(run, tmp_path).stat().st_mtime_ns == before
    assert len(list(run_and_record(run, tmp_path, resume=False))) == 4


class Trap:
    def __reduce__(self):
        return Path.touch, (Path("sprung"),)


def damaged(path, kind):
    if kind == "pickle":
        path.write_bytes(pickle.dumps(Trap()))
    elif kind == "pickled array":
        np.savez(path, params=np.array([Trap()], dtype=object), round=1, made_by=np.array(["a"]))
    elif kind == "cut":
        path.write_bytes(path.read_bytes()[:-300])
    elif kind == "one bit":
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    else:
        path.write_bytes(b"")


@pytest.mark.parametrize("kind", ["pickle", "pickled array", "cut", "one bit", "empty"])
def test_a_damaged_checkpoint_is_never_loaded_and_the_run_started_anew(tmp_path, monkeypatch, caplog, kind):
    monkeypatch.chdir(tmp_path)
    run = tiny_run()
    made(run, tmp_path / "whole")
    stopped(run, tmp_path / "parts", after=2)
    path = checkpoint_path(run, tmp_path / "parts")
    damaged(path, kind)
    with pytest.raises(DataError, match="is no checkpoint, or a damaged one"):
        load_checkpoint(path, run)
    assert len(made(run, tmp_path / "parts").records) == 3
    assert "started anew" in caplog.text
    assert not Path("sprung").exists()
    same(run, tmp_path / "whole", tmp_path / "parts")


@pytest.mark.parametrize("text", ["", "{", "[]", "{}", '{"records": 3}', "null", '{"records": [{}]}'])
def test_a_damaged_result_is_refused_and_the_run_started_anew(tmp_path, caplog, text):
    run = tiny_run()
    stopped(run, tmp_path, after=2)
    result_path(run, tmp_path).write_text(text)
    with pytest.raises(DataError, match="is no result, or a damaged one"):
        load_result(run, tmp_path)
    assert [len(result.records) for result in run_and_record(run, tmp_path)] == [0, 1, 2, 3]
    assert "started anew" in caplog.text


def test_what_belongs_to_another_run_or_version_is_refused(tmp_path):
    run, other = tiny_run(), tiny_run(seed=1)
    made(run, tmp_path)
    checkpoint_path(run, tmp_path).rename(checkpoint_path(other, tmp_path))
    with pytest.raises(DataError, match="the checkpoint of something else"):
        load_checkpoint(checkpoint_path(other, tmp_path), other)
    with pytest.raises(DataError, match="the checkpoint of something else"):
        load_checkpoint(checkpoint_path(other, tmp_path), run, device="cuda")
    stored = json.loads(result_path(run, tmp_path).read_text()) | {"version": "0.0.1"}
    result_path(run, tmp_path).write_text(json.dumps(stored))
    with pytest.raises(DataError, match=r"its version is '0\.0\.1'"):
        load_result(run, tmp_path)


def test_the_same_bits_come_with_any_number_of_torch_threads(tmp_path):
    import torch

    from holdfast.lab.choices import Numbers, build_run

    run = build_run("digits", attack="edge-case", numbers=Numbers(3, 12, 6, 2))
    before = torch.get_num_threads()
    try:
        for threads in (1, 2):
            torch.set_num_threads(threads)
            made(run, tmp_path / str(threads))
            assert torch.get_num_threads() == threads
    finally:
        torch.set_num_threads(before)
    same(run, tmp_path / "1", tmp_path / "2")
