"""The examples run as they stand."""

import os
import runpy
import subprocess
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not EXAMPLES.exists(), reason="no examples beside the tests"),
]


def test_a_task_of_ones_own_takes_about_twenty_lines_and_shows_an_attack_stopped(capsys):
    path = EXAMPLES / "own_task.py"
    code = path.read_text().split("def rings")[1].split("if __name__")[0]
    assert len([line for line in code.splitlines() if line.strip()]) <= 25
    runpy.run_path(str(path), run_name="__main__")
    averaged, own = capsys.readouterr().out.splitlines()
    assert averaged.startswith("fedavg: accuracy 0.")
    assert averaged.endswith("attack success 1.00")
    assert own.startswith("middle: accuracy 0.9")
    assert own.endswith("attack success 0.00")


def test_a_pytorch_loop_learns_beside_liars_and_a_loud_client(capsys):
    runpy.run_path(str(EXAMPLES / "torch_loop.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "10 clients aggregated" in out
    assert float(out.split("accuracy ")[1]) > 0.95


def test_jax_pytrees_learn_beside_a_liar_and_a_tree_of_another_form(capsys):
    pytest.importorskip("jax", reason="JAX is not installed")
    runpy.run_path(str(EXAMPLES / "jax_pytree.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "9 clients aggregated, 1 dropped" in out
    assert float(out.split("accuracy ")[1]) > 0.95


def test_nvflares_simulator_runs_a_rule_against_a_malicious_site(tmp_path):
    """NVFlare pins too much to share an environment: `make test-nvflare` makes one and says where it is."""
    python = os.environ.get("HOLDFAST_NVFLARE_PYTHON")
    if not python:
        pytest.skip("HOLDFAST_NVFLARE_PYTHON names no Python with NVFlare: make test-nvflare")
    script = [python, str(EXAMPLES / "nvflare_job.py"), str(tmp_path)]
    environment = {**os.environ, "PYTHONPATH": str(EXAMPLES.parent)}
    done = subprocess.run(script, capture_output=True, text=True, timeout=500, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stderr[-2000:]
    assert "the model after three rounds: ['0.9', '0.9', '0.9', '0.9']" in done.stdout
