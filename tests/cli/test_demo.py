import sys

import pytest
from typer.testing import CliRunner

import holdfast
from holdfast import aggregators
from holdfast.cli import app


def test_the_demo_shows_every_rule_and_writes_a_page(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install holdfast[report])")
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "new")], catch_exceptions=False)
    assert result.exit_code == 0
    for rule in aggregators.__all__:
        assert rule in result.output
    assert (tmp_path / "new" / "report.html").exists()
    assert (tmp_path / "new" / "rules.png").read_bytes().startswith(b"\x89PNG")


def test_without_matplotlib_the_table_is_still_shown(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "holdfast.report.demo_page", None)
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path)], catch_exceptions=False)
    assert result.exit_code == 0
    assert "invariant" in result.output
    assert "holdfast[report]" in result.output
    assert not list(tmp_path.iterdir())


def test_the_version_is_shown():
    result = CliRunner().invoke(app, ["--version"])
    assert result.output.strip() == f"holdfast {holdfast.__version__}"


def test_a_file_in_the_place_of_the_folder_is_answered_in_one_line(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install holdfast[report])")
    (tmp_path / "taken").write_text("")
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "taken")])
    assert result.exit_code == 1
    assert "must be a folder that can be written to" in result.output
