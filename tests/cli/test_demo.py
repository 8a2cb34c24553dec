import subprocess
import sys

import pytest
from typer.testing import CliRunner

import holdfast
from holdfast.cli.commands import app
from holdfast.paper.demo import DEFENCES


@pytest.mark.slow
def test_the_demo_shows_both_tasks_says_what_to_take_and_writes_a_page(tmp_path, capfd):
    pytest.importorskip("matplotlib", reason="matplotlib is not installed (pip install '.[report]')")
    arguments = ["demo", "--out", str(tmp_path / "new"), "--rounds", "4", "--seed", "3"]
    result = CliRunner().invoke(app, arguments, catch_exceptions=False, env={"COLUMNS": "200"})
    assert result.exit_code == 0
    for row in DEFENCES:
        assert result.output.count(f"│ {row} ") == 2
    told = result.output.splitlines()
    page = (tmp_path / "new" / "report.html").read_text(encoding="utf-8")
    for title in ("Phishing mail", "Handwritten digits"):
        assert f"{title}: the watch accused " in " ".join(told)
        assert f"{title}: the watch accused " in page
    assert "expelled since" not in capfd.readouterr().err  # workers keep their verdicts to themselves
    (command,) = [line.strip() for line in told if line.startswith("    holdfast ")]
    assert f'<code class="typed">{command}</code>' in page
    assert 'class="banner"' in page
    assert told[-1] == f"A page to open: {tmp_path / 'new' / 'report.html'}"
    assert "with seed 3" in page
    assert page.count('class="curves"') == page.count('class="watch"') == 2
    assert (tmp_path / "new" / "demo-digits.png").read_bytes().startswith(b"\x89PNG")


def test_the_version_is_shown():
    result = CliRunner().invoke(app, ["--version"])
    assert result.output.strip() == f"holdfast {holdfast.__version__}"


@pytest.fixture
def untrained(monkeypatch):
    """Training is an error: what cannot be done must be known before it."""

    def train(*_, **__):
        raise AssertionError("it trained")

    monkeypatch.setattr("holdfast.runs.parallel.make_runs", train)


@pytest.mark.parametrize(
    ("absent", "extras"),
    [
        (["matplotlib"], "report"),
        (["jinja2"], "report"),
        (["torch"], "sim"),
        (["torch", "jinja2"], "sim,report"),
    ],
)
def test_a_package_that_is_missing_is_named_before_anything_is_trained(
    absent, extras, untrained, monkeypatch, tmp_path
):
    for name in absent:
        monkeypatch.setitem(sys.modules, name, None)
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "new")])
    assert result.exit_code == 1
    assert f"{' and '.join(absent)} " in result.output
    assert f"pip install '.[{extras}]'" in result.output
    assert not (tmp_path / "new").exists()


def test_a_blocked_import_ends_the_command_in_one_line(tmp_path):
    code = "import sys; sys.modules['matplotlib'] = None; from holdfast.cli import main; main()"
    command = [sys.executable, "-c", code, "demo", "--out", str(tmp_path / "new")]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 1
    assert done.stdout == ""
    assert done.stderr == "matplotlib is not installed; in a checkout: pip install '.[report]'\n"


def test_a_file_in_the_place_of_the_folder_is_answered_in_one_line(untrained, tmp_path):
    (tmp_path / "taken").write_text("")
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path / "taken")])
    assert result.exit_code == 1
    assert "taken is not a folder; name another place" in result.output


def test_a_folder_that_cannot_be_written_to_is_known_before_anything_is_trained(
    untrained, monkeypatch, tmp_path
):
    def refuse(dir):
        raise PermissionError(13, "Permission denied", str(dir))

    monkeypatch.setattr("tempfile.TemporaryFile", refuse)
    result = CliRunner().invoke(app, ["demo", "--out", str(tmp_path)])
    assert result.exit_code == 1
    assert "cannot write to" in result.output
    assert "Permission denied; name another place" in result.output
