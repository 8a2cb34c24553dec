import multiprocessing
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from holdfast.errors import HoldfastError, InputError
from holdfast.runs.parallel import make_runs

from ..tiny import assert_same, load_result, made, tiny_run

ROOT = Path(__file__).parent.parent.parent.parent


@pytest.mark.slow
def test_results_do_not_depend_on_the_workers(tmp_path):
    runs = [tiny_run(seed=seed) for seed in range(3)]
    steps = list(make_runs(runs, tmp_path / "two", n_workers=2))
    assert {step.key for step in steps if step.finished} == {run.key for run in runs}
    assert [step.round for step in steps if step.key == runs[0].key] == [0, 1, 2, 3]
    for run in runs:
        made(run, tmp_path / "here")
        assert_same(run, tmp_path / "two", tmp_path / "here")
    assert not multiprocessing.active_children()


def test_what_cannot_be_run_is_named_and_what_is_finished_stays(tmp_path):
    runs = [tiny_run(), tiny_run("krum", n_malicious=5)]
    with pytest.raises(InputError, match="krum under attack 'edge-case', seed 0: krum needs"):
        list(make_runs(runs, tmp_path, n_workers=1))
    assert load_result(runs[0], tmp_path).finished
    assert not multiprocessing.active_children()


def test_a_worker_that_dies_is_said_to_have_died(tmp_path):
    news = make_runs([tiny_run(n_rounds=100_000)], tmp_path, n_workers=1)
    next(news)
    (worker,) = multiprocessing.active_children()
    worker.kill()
    with pytest.raises(HoldfastError, match="a worker process died while it made fedavg"):
        list(news)
    assert not multiprocessing.active_children()


def test_workers_end_at_once_when_nobody_listens_any_more(tmp_path):
    news = make_runs([tiny_run(epochs=50_000)], tmp_path, n_workers=1)  # a round of half a minute
    next(news)
    (worker,) = multiprocessing.active_children()
    news.close()
    assert not worker.is_alive()
    assert not multiprocessing.active_children()
    assert not list(tmp_path.iterdir())  # nor a lock


CODE = """
from pathlib import Path
from holdfast.runs.parallel import make_runs
from tests.runs.tiny import tiny_run
import multiprocessing
for step in make_runs([tiny_run(epochs=50_000)], Path({!r}), n_workers=1):  # a round of half a minute
    print(multiprocessing.active_children()[0].pid, flush=True)
"""


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks into /proc")
def test_workers_end_with_a_parent_that_is_killed_even_within_a_round(tmp_path):
    command = [sys.executable, "-c", CODE.format(str(tmp_path))]
    parent = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=ROOT)
    worker = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    parent.stdout.close()
    for _ in range(100):
        if not is_alive(worker):
            return
        time.sleep(0.05)
    os.kill(worker, signal.SIGKILL)
    pytest.fail("the worker continues")


@pytest.mark.skipif(not Path("/proc/self").exists(), reason="looks into /proc")
def test_an_interrupt_is_for_the_parent_alone_from_a_workers_first_moment_on(tmp_path):
    news = make_runs([tiny_run(n_rounds=100_000)], tmp_path, n_workers=1)
    next(news)
    (worker,) = multiprocessing.active_children()
    status = Path(f"/proc/{worker.pid}/status").read_text()
    held = signal.pthread_sigmask(signal.SIG_BLOCK, ())
    news.close()
    (blocked,) = [line.split()[1] for line in status.splitlines() if line.startswith("SigBlk")]
    assert int(blocked, 16) & (1 << (signal.SIGINT - 1))  # inherited: set before its first import
    assert signal.SIGINT not in held


def is_alive(pid):
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except FileNotFoundError:
        return False


def test_workers_are_counted_from_one(tmp_path):
    with pytest.raises(InputError, match="n_workers"):
        list(make_runs([tiny_run()], tmp_path, n_workers=0))


def test_what_is_finished_needs_no_worker(tmp_path, monkeypatch):
    run = tiny_run()
    made(run, tmp_path)
    monkeypatch.setattr("holdfast.runs.parallel.make_locally", None)
    assert list(make_runs([run, run], tmp_path)) == [(run.key, 3, True, None)]


@pytest.mark.slow
def test_one_run_that_cannot_be_made_need_not_stop_the_others(tmp_path):
    bad, good = tiny_run("krum", n_malicious=5), tiny_run()
    steps = list(make_runs([bad, good], tmp_path, n_workers=1, stop_at_error=False))
    (failed,) = [step for step in steps if step.error]
    assert failed.key == bad.key
    assert "krum needs" in failed.error
    assert load_result(good, tmp_path).finished


def broken(updates):
    raise KeyError("weights")


@pytest.mark.parametrize("rule", [broken, lambda updates: broken(updates)], ids=["in a worker", "here"])
def test_an_error_in_a_function_of_the_users_is_told_with_its_run_and_place(rule, tmp_path):
    told = r"under attack 'edge-case', seed 0: KeyError: 'weights', in broken \(test_local.py, line \d+\)"
    with pytest.raises(InputError, match=told):
        list(make_runs([tiny_run(rule)], tmp_path, n_workers=1))


@pytest.mark.slow
def test_an_error_that_is_not_ours_comes_through(tmp_path):
    (tmp_path / "taken").write_text("")
    with pytest.raises(OSError, match="taken"):
        list(make_runs([tiny_run()], tmp_path / "taken", n_workers=1))


SCRIPT = """
import multiprocessing, sys
from pathlib import Path
import numpy as np
from holdfast import Aggregate, rule
from holdfast.runs.parallel import make_runs
from tests.runs.tiny import tiny_run

@rule
def middle(updates):
    return Aggregate(np.median(np.asarray(updates), axis=0))

def main(run):
    rounds, workers = [], set()
    for step in make_runs([run], Path(sys.argv[1]), n_workers=1):
        rounds.append(step.round)
        workers.update(multiprocessing.active_children())
    print(rounds, len(workers), Path(__file__).name)

"""
INSIDE = """
if __name__ == '__main__':
    @rule
    def later(updates):
        return middle(updates)

    main(tiny_run(later))
"""


@pytest.mark.parametrize(
    ("last", "n_workers"),
    [
        ("main(tiny_run())", 1),
        ("if __name__ == '__main__': main(tiny_run(middle))", 1),
        ("main(tiny_run(middle))", 0),
        ("if __name__ == '__main__': main(tiny_run(lambda updates: middle(updates)))", 0),
        (INSIDE, 0),
    ],
    ids=[
        "has nothing that they need",
        "guards its work",
        "guards nothing",
        "guards its work, of a lambda",
        "guards its functions",
    ],
)
def test_a_script_is_run_once_and_has_workers_if_it(last, n_workers, tmp_path):
    (tmp_path / "script.py").write_text(SCRIPT + last)
    command = [sys.executable, str(tmp_path / "script.py"), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, env=environment)
    assert done.stdout == f"[0, 1, 2, 3] {n_workers} script.py\n", done.stderr[-2000:]
    assert ("worker processes cannot find them" in done.stderr) == (n_workers == 0)
