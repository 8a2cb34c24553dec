"""The examples run as they stand."""

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
pytestmark = pytest.mark.skipif(not EXAMPLES.exists(), reason="no examples beside the tests")


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
