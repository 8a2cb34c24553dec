import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from holdfast.cli.commands import app, theory
from holdfast.theory import Finding


def run(*arguments):
    return CliRunner().invoke(app, ["theory", *arguments])


def test_check_shows_formula_and_measurement_and_passes():
    result = run("check", "--samples", "1000")
    assert result.exit_code == 0
    assert "as printed" in result.output
    assert "within 4 standard errors" in result.output
    assert "WRONG" not in result.output


def test_check_as_json_is_json():
    rows = json.loads(run("check", "--samples", "200", "--json").stdout)
    assert all(row["holds"] for row in rows)


def test_check_fails_where_a_formula_is_wrong(monkeypatch):
    wrong = Finding("a coin", "heads", 0.5, measured=0.9, n_samples=100)
    monkeypatch.setattr(theory, "check_theory", lambda **_: (wrong,))
    result = run("check")
    assert result.exit_code == 3
    assert "WRONG" in result.output


def test_bad_samples_are_refused():
    result = run("check", "--samples", "0")
    assert result.exit_code == 2
    assert "Invalid value for '--samples': 0 is not in the range x>=1" in result.output


def test_a_bad_seed_is_refused():
    result = run("check", "--seed", "-1")
    assert result.exit_code == 2
    assert "Invalid value for '--seed': -1 is not in the range x>=0" in result.output


@pytest.mark.slow
def test_figures_are_written(tmp_path):
    pytest.importorskip("matplotlib")
    result = run("figures", "--out", str(tmp_path))
    assert result.exit_code == 0
    assert {path.name for path in tmp_path.iterdir()} >= {
        "f1-landscapes.png",
        "f2-failures.png",
        "f3-fltrust.png",
    }


def test_figures_go_into_a_folder_of_their_own_unless_one_is_named(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "docs").mkdir()
    asked = []
    monkeypatch.setattr("holdfast.report.theory_figures.draw_theory", lambda out: asked.append(out) or [])
    assert run("figures").exit_code == 0
    assert asked == [Path("figures")]
    assert [path.name for path in tmp_path.iterdir()] == ["docs"]
