import json

import pytest
from typer.testing import CliRunner

from holdfast.cli.commands import app

CIFAR = ["advise", "--clients", "100", "--per-round", "20", "--malicious", "20"]


def run(*arguments):
    return CliRunner().invoke(app, arguments, env={"COLUMNS": "120"})


def test_no_setting_keeps_the_risk_with_the_numbers_of_the_paper():
    result = run(*CIFAR, "--flip", "0.1", "--rounds", "300")
    assert result.exit_code == 0
    assert "invariant(tau=0.5, alpha=0.45)" in result.output
    assert "No setting keeps every risk at 1%" in result.output
    for column in ("cifar10", "twitter", "phishing", "released"):
        assert column in result.output


def test_settings_within_the_risk_are_said_to_be_with_their_region():
    result = run("advise", "--clients", "30", "--malicious", "5")
    assert "Every risk is at most 1% over all rounds" in result.output
    assert "Feasible" in result.output
    assert "alpha 0.16 to 0.46" in result.output


def test_json_is_json():
    stored = json.loads(run(*CIFAR, "--json").stdout)
    assert stored["settings"] == {"tau": 0.5, "alpha": 0.45}
    assert stored["within_risk"] is False
    assert stored["strength"] == 3.0
    assert stored["rounds_until_seen"] > 5


def test_how_soon_a_watch_would_see_the_attackers_is_said():
    text = " ".join(run(*CIFAR, "--strength", "4").output.split())
    assert "sees the 20 attackers after about" in text
    assert "if they stand off by 4 deviations of the honest clients in each" in text
    assert "never sees the 20 attackers" in " ".join(run(*CIFAR, "--strength", "0.1").output.split())


def test_plot_draws_the_region(tmp_path):
    pytest.importorskip("matplotlib")
    assert run(*CIFAR, "--plot", str(tmp_path / "region.svg")).exit_code == 0
    assert (tmp_path / "region.svg").read_text().startswith("<?xml")


def test_attackers_of_half_and_more_get_a_clear_answer():
    result = run("advise", "--clients", "10", "--malicious", "5")
    assert result.exit_code == 1
    assert "no setting helps: 5 of 10 clients are malicious" in result.output
    assert "Traceback" not in result.output


def test_a_figure_of_no_known_kind_is_refused(tmp_path):
    result = run(*CIFAR, "--plot", str(tmp_path / "region.docx"))
    assert result.exit_code == 1
    assert "a figure must be one of png, svg, pdf" in result.output
