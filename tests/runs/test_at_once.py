"""Several processes in one folder at the same time lose nothing, and get in nobody's way."""

import json
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

pytest.importorskip("torch", reason="torch is not installed (pip install '.[sim]')")

from holdfast.runs.recording import run_and_record
from holdfast.runs.results import list_results
from holdfast.runs.store import files_of

from .crowd import N_ROUNDS, run_of
from .tiny import assert_same, load_result, made

ROOT = Path(__file__).parent.parent.parent


pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def at_once():
    """Return a function that does jobs at once, each in a process of its own, and returns their answers."""
    command = [sys.executable, "-m", "tests.runs.crowd"]
    with subprocess.Popen(
        command, cwd=ROOT, text=True, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as process:

        def do(folder, *jobs):
            process.stdin.write(json.dumps([str(folder), *jobs]) + "\n")
            process.stdin.flush()
            return json.loads(process.stdout.readline())

        yield do
        process.stdin.close()


@pytest.mark.parametrize("resume", [True, False])
def test_who_comes_while_a_run_is_made_gets_its_result(at_once, tmp_path, resume):
    shared, sign = tmp_path / "shared", tmp_path / "sign"
    made(run_of(0), shared)
    ours = run_and_record(run_of(0), shared, resume=False)
    next(ours)
    if resume:
        files_of(run_of(0).key, shared).result.unlink()
    with ThreadPoolExecutor() as pool:
        theirs = pool.submit(at_once, shared, ["follow", 0, resume, str(sign)])
        while not sign.exists():
            time.sleep(0.01)
        *_, result = ours
        assert theirs.result() == [result.series("seconds")]


def test_processes_that_make_the_same_run_share_one_result(at_once, tmp_path):
    run, shared = run_of(0), tmp_path / "shared"
    one, other, third = at_once(shared, *[["make", 0]] * 3)
    assert one == other == third == load_result(run, shared).series("seconds")  # they were made once
    assert {path.name for path in shared.iterdir()} == {f"{run.key}.json", f"{run.key}.npz"}
    made(run, tmp_path / "alone")
    assert_same(run, shared, tmp_path / "alone")


def test_who_waits_for_a_process_that_dies_takes_over(at_once, tmp_path):
    run, shared = run_of(0), tmp_path / "shared"
    dead, seconds = at_once(shared, ["make_and_die", 0], ["take_over", 0])
    assert (dead, len(seconds)) == (None, N_ROUNDS)
    assert {path.name for path in shared.iterdir()} == {f"{run.key}.json", f"{run.key}.npz"}
    made(run, tmp_path / "alone")
    assert_same(run, shared, tmp_path / "alone")


def test_runs_are_made_packed_and_read_at_once_and_nothing_is_lost_or_flickers(at_once, tmp_path):
    runs = [run_of(seed) for seed in range(3)]
    jobs = [["make", 0], ["make", 1], ["make", 2], ["make", 0], ["pack", 3], ["pack", 3], ["look", 3]]
    *_, wrong = at_once(tmp_path / "shared", *jobs)
    assert wrong == []
    results, unusable = list_results(tmp_path / "shared")
    assert ({one.key for one in results}, unusable) == ({run.key for run in runs}, {})
    assert not [
        path for path in (tmp_path / "shared").iterdir() if path.suffix not in (".jsonl", ".npz", ".json")
    ]
    for run in runs:
        alone = made(run, tmp_path / "alone")
        assert load_result(run, tmp_path / "shared").series("accuracy") == alone.series("accuracy")
        assert files_of(run.key, tmp_path / "shared").model.is_file()
