import pytest
from typer.testing import CliRunner

import holdfast
from holdfast.cli import app


def test_the_demo_shows_both_tasks_and_writes_a_page(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install holdfast[report])")
    arguments = ["demo", "--out", str(tmp_path / "new"), "--rounds", "1"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0
    for word in ("Phishing mail", "Handwritten digits", "invariant", "backdoor"):
        assert word in result.output
    assert (tmp_path / "new" / "report.html").exists()
    assert (tmp_path / "new" / "digits.png").read_bytes().startswith(b"\x89PNG")


def test_the_version_is_shown():
    result = CliRunner().invoke(app, ["--version"])
    assert result.output.strip() == f"holdfast {holdfast.__version__}"


def test_a_file_in_the_place_of_the_folder_is_answered_in_one_line(tmp_path):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install holdfast[report])")
    (tmp_path / "taken").write_text("")
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "taken")])
    assert result.exit_code == 1
    assert "File exists" in result.output
