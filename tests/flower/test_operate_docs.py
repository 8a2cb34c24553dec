"""The page on operating a federation: its code runs, and its commands work one after the other."""

import re
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

pytest.importorskip("torch", reason="torch is not installed (pip install '.[sim]')")

from holdfast import factions, fedavg, invariant
from holdfast.cli.commands import app
from holdfast.files import save_tensors
from holdfast.flower import Robust
from holdfast.ledger import Policy, open_ledger, read_policy, verify

from ..pages import blocks, commands, files
from .nodes import Federation, model, record

PAGE = Path(__file__).parents[2] / "docs" / "operate.md"
pytestmark = pytest.mark.skipif(not PAGE.exists(), reason="no docs beside the tests")

SMALL = {"run": ["--scale", "smoke", "--rounds", "2", "--out", "results"]}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Work where a training has just ended, with a round over files beside it."""
    monkeypatch.chdir(tmp_path)
    Path("clients").mkdir()
    for name, x in {"global": 0.0, "clients/ann": 1.0, "clients/bob": 2.0, "clients/cat": 3.0}.items():
        save_tensors(Path(f"{name}.safetensors"), {"w": np.full(3, x, np.float32)})
    names = {}
    exec(blocks(PAGE, "python")[0].text, names)
    nodes = (2651, 4812, *range(11, 20))
    names["strategy"].start(Federation(nodes=nodes), record(model()), num_rounds=7)
    return tmp_path


def test_every_command_works_one_after_the_other(folder):
    typed = commands(PAGE)
    assert len(typed) >= 8
    for program, *words in typed:
        assert program == "holdfast"
        if words[0] == "rewind":
            with open_ledger("federation.db", read_only=True) as ledger:
                assert ledger.decided()[2651] == ("pardon", "its data is unusual, and audited")
        expanded = [
            path
            for word in words
            for path in (sorted(map(str, folder.glob(word))) if "*" in word else [word])
        ]
        done = CliRunner().invoke(app, [*expanded, *SMALL.get(words[0], [])])
        assert done.exit_code == 0, (words, done.output)
    with open_ledger("federation.db", read_only=True) as ledger:
        assert [one["round"] for one in ledger.rounds()] == [1, 2, 3, 4, 5]
    for name in ("federation.db", "simulated.db", "files.db"):
        assert verify(name).holds


def test_every_snippet_runs(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for name, text in files(PAGE).items():
        Path(name).write_text(text)
    names = {}
    for block in blocks(PAGE, "python"):
        exec(block.text, names)
    assert (
        names["strategy"].desk.policy == read_policy("policy.toml") == Policy(on_verdict="ask", timeout=900)
    )
    with open_ledger("loop.db", read_only=True) as ledger:
        assert len(ledger.rounds()) == 3
    assert verify("loop.db").holds


def test_the_lines_of_the_log_look_as_they_are_shown(caplog, tmp_path):
    caplog.set_level("INFO")
    strategy = Robust(invariant, ledger=tmp_path / "federation.db")
    strategy.start(Federation(), record(model()), num_rounds=1)
    shown = blocks(PAGE, "text")[0].text
    form = re.sub(r"(?<=model )\w+|(?<=audit )\w+|\d+", "#", shown.partition("round ")[2].strip())
    (said,) = [one.getMessage() for one in caplog.records if one.getMessage().startswith("round 1:")]
    for part in re.sub(r"(?<=model )\w+|(?<=audit )\w+|\d+", "#", said.partition("round ")[2]).split(", "):
        assert part in form


def test_the_table_of_policies_lists_them_all():
    named = re.findall(r"^\| `(report|ask|expel|stop)` \|", PAGE.read_text(), re.M)
    assert named == ["report", "ask", "expel", "stop"]
    for name in named:
        Robust(fedavg, watch=factions(), ledger="federation.db", policy={"on_verdict": name})
