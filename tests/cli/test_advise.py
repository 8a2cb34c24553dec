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


@pytest.mark.parametrize(
    ("share", "count"), [("20%", 20), (" 20 % ", 20), ("7.5%", 8), ("0.1%", 1), ("20", 20)]
)
def test_attackers_may_be_given_as_a_share_which_is_rounded_up(share, count):
    found = json.loads(run("advise", "--clients", "100", "--malicious", share, "--json").stdout)
    assert found["federation"]["n_malicious"] == count
    drawn = run("advise", "--clients", "100", "--malicious", "1", "--per-round", share, "--json")
    assert count == 1 or json.loads(drawn.stdout)["federation"]["n_per_round"] == count


@pytest.mark.parametrize("given", ["x", "x%", "120%", "-1%", "nan%", "20%5", "2.5"])
def test_what_is_neither_a_number_nor_a_share_is_refused(given):
    result = run("advise", "--clients", "100", "--malicious", given)
    assert result.exit_code == 2
    assert "--malicious" in result.stderr
    assert given in result.stderr


def test_the_advice_ends_in_words_to_copy():
    lines = [line.strip() for line in run(*CIFAR).output.splitlines()]
    assert "rule = invariant(tau=0.5, alpha=0.45)" in lines
    assert "holdfast run TASK --attack edge-case --defence invariant --set tau=0.5 --set alpha=0.45" in lines


def test_strict_makes_a_risk_that_no_setting_keeps_a_no():
    assert run(*CIFAR).exit_code == 0
    assert run(*CIFAR, "--strict").exit_code == 3
    assert run(*CIFAR, "--strict", "--json").exit_code == 3
    assert run("advise", "--clients", "30", "--malicious", "5", "--strict").exit_code == 0
