"""The README's example runs as it stands, and its table lists every rule of the front door with its paper."""

import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast
from holdfast import aggregators

README = Path(__file__).parent.parent / "README.md"
pytestmark = pytest.mark.skipif(not README.exists(), reason="no README beside the tests")


def test_the_example_runs(capsys):
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    assert len(code.strip().splitlines()) <= 12
    names = {}
    exec(code, names)
    printed = capsys.readouterr().out
    assert "invariant: 9 clients aggregated, 1 dropped" in printed
    assert "client node-9: holds NaN" in printed


def test_the_example_needs_numpy_and_numba_alone():
    (code,) = re.findall(r"```python\n(.*?)```", README.read_text(), re.S)
    extras = ("typer", "rich", "torch", "matplotlib", "jinja2", "flwr", "ray", "platformdirs", "scipy", "jax")
    blocked = f"import sys\nsys.modules.update(dict.fromkeys({extras}))\n"
    done = subprocess.run([sys.executable, "-c", blocked + code], capture_output=True, text=True, check=True)
    assert "9 clients aggregated" in done.stdout


def test_the_table_lists_every_rule_of_the_front_door_with_the_paper_of_its_docstring():
    rows = re.findall(r"^\| `(\w+)` \|.*\((https://arxiv\.org/abs/[\d.]+)\) \|$", README.read_text(), re.M)
    assert sorted(rule for rule, _ in rows) == sorted({*aggregators.__all__} & {*holdfast.__all__})
    for rule, paper in rows:
        assert paper in inspect.getdoc(getattr(aggregators, rule))
