"""The commands and the code of docs/lab.md run as they stand."""

import re
import runpy
import shlex
import sys
from pathlib import Path

import pytest

from holdfast.comparing import compare
from holdfast.core import ROLES
from holdfast.lab.choices import Numbers

from .cli.test_run import holdfast

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs" / "lab.md"
pytestmark = [
    pytest.mark.skipif(not DOCS.exists(), reason="no docs beside the tests"),
    pytest.mark.skipif(not (ROOT / "examples").exists(), reason="no examples beside the tests"),
]


def blocks(language):
    return re.findall(rf"```{language}\n(.*?)```", DOCS.read_text(), re.S)


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work in a folder of its own that has the examples."""
    (tmp_path / "examples").mkdir()
    (tmp_path / "examples" / "own_task.py").write_text((ROOT / "examples" / "own_task.py").read_text())
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    sys.modules.pop("own_task", None)


def test_the_table_of_roles_says_what_each_is_called_with():
    rows = [line.split("|") for line in DOCS.read_text().splitlines() if line.startswith("| ")]
    told = {row[1].strip(): (row[3], row[4]) for row in rows if row[1].strip() in ROLES}
    assert set(told) == set(ROLES) - {"watch", "augmentation", "minority", "study"}
    for role, (takes, asks) in told.items():
        names = tuple(re.findall(r"\w+", takes)) if "`" in takes else ()
        assert names == ROLES[role].takes
        assert re.findall(r"`(\w+)`", asks) == list(ROLES[role].inputs)


@pytest.mark.slow
def test_every_command_runs(folder):
    (block,) = blocks("bash")
    lines = [line.partition("#")[0].strip() for line in block.splitlines()]
    commands = [shlex.split(line)[1:] for line in lines if line]
    assert {command[0] for command in commands} == {"list", "run", "compare", "probe", "check", "report"}
    for command in commands:
        sys.modules.pop("own_task", None)  # each is a process of its own
        small = ["--rounds", "2"] if command[0] in ("run", "compare") else []
        done = holdfast(*command, *small)
        assert done.exit_code == 0, (command, done.output)
    assert (folder / "run.html").exists()
    assert "middle" in (folder / "all.html").read_text(encoding="utf-8")


@pytest.mark.slow
def test_the_code_runs(folder, capsys, monkeypatch):
    pytest.importorskip("pandas", reason="pandas is not installed")
    (code,) = blocks("python")
    names = runpy.run_path(str(folder / "examples" / "own_task.py"), run_name="own_task")
    monkeypatch.setattr(
        "holdfast.lab.compare",
        lambda *given, **more: compare(*given, **more, numbers=Numbers(n_rounds=2)),
        raising=False,
    )
    exec(code, names)
    printed = capsys.readouterr().out
    assert "against plain" in printed
    assert "middle() passes" in printed
    assert (folder / "mine.html").exists()
