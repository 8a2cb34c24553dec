"""A real Ray, on this machine: two actors in processes of their own."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from holdfast.errors import InputError
from holdfast.runs.parallel import make_runs
from holdfast.runs.parallel.on_ray import _steps

from ..tiny import assert_same, load_result, made, stop_after, tiny_run

ray = pytest.importorskip("ray")

CODE = """
import json, sys
from pathlib import Path
import ray
from holdfast.runs.parallel import make_runs
from tests.runs.tiny import tiny_run
runs = [tiny_run(seed=seed, n_rounds=7) for seed in range(3)]
runs.append(tiny_run("krum", n_malicious=5))
ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
steps = list(make_runs(runs, Path(sys.argv[1]), ray="ray", stop_at_error=False))
print(json.dumps([list(step) for step in steps]))
ray.shutdown()
"""


@pytest.mark.engines
def test_ray_makes_what_local_workers_make_and_resumes_what_is_there(tmp_path):
    runs = [tiny_run(seed=seed, n_rounds=7) for seed in range(3)]
    for run in runs:
        made(run, tmp_path / "here")
    stop_after(4, runs[1], tmp_path / "ray", every=2)
    # In a process of its own: Ray leaves sockets open, which are errors to a test.
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", CODE, str(tmp_path / "ray")],
        capture_output=True, text=True, cwd=Path(__file__).parent.parent.parent.parent, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr[-3000:]
    steps = json.loads(done.stdout.splitlines()[-1])
    for run in runs:
        assert_same(run, tmp_path / "here", tmp_path / "ray")
    rounds = {run.key: [made for key, made, _, _ in steps if key == run.key] for run in runs}
    assert rounds[runs[0].key] == list(range(8))
    assert rounds[runs[1].key] == list(range(4, 8))
    (failed,) = [error for *_, error in steps if error]
    assert "krum under attack 'edge-case', seed 0: krum needs" in failed


def test_files_travel_only_when_they_have_changed(tmp_path):
    run = tiny_run(n_rounds=7)
    news = list(_steps(run, {}, "cpu"))
    assert [step.round for step, _ in news] == list(range(8))
    making, checkpoint = f"{run.key}.making.json", f"{run.key}.making.npz"
    result, model = f"{run.key}.json", f"{run.key}.npz"
    changed = [[name for name, content in files.items() if content is not None] for _, files in news]
    assert changed == [[]] * 5 + [[making, checkpoint], [], [model, result]]
    assert [name for name, content in news[-1][1].items() if content is None] == [making, checkpoint]
    (tmp_path / result).write_bytes(news[-1][1][result])
    assert load_result(run, tmp_path).finished


def test_an_address_that_is_none_is_said_to_be_none(tmp_path):
    with pytest.raises(InputError, match="ray://host:10001; got 'cluster'"):
        list(make_runs([tiny_run()], tmp_path, ray="cluster"))
