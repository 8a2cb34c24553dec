"""On a terminal of 60 columns: nothing is wider, except what has no gap, and no name is cut or broken."""

import json
import re

import pytest
from typer.testing import CliRunner

from holdfast.cli.commands import app
from holdfast.lab.catalogue import list_choices
from holdfast.lab.data.sources import SOURCES
from holdfast.paper import EXPERIMENTS

COLUMNS = 60


def shown(*words, **more):
    done = CliRunner().invoke(app, [*map(str, words)], env={"COLUMNS": str(COLUMNS)}, **more)
    assert done.exit_code == 0, done.output
    assert "…" not in done.stdout
    return done.stdout


def too_wide(text):
    """Return the lines that are wider than the terminal and could have been broken."""
    return [line for line in text.splitlines() if len(line) > COLUMNS and " " in line.strip()]


@pytest.mark.parametrize("kind", ["tasks", "attacks", "defences", "watches"])
def test_a_list_fits_and_has_every_name_whole(kind):
    text = shown("list", kind)
    assert too_wide(text.rpartition("For example: ")[0]) == []  # a command to copy stays in one piece
    for choice in list_choices(kind):
        assert f" {choice.name} " in text


@pytest.mark.parametrize("kind", ["tasks", "attacks", "defences", "watches"])
def test_the_details_of_all_entries_fit_and_have_every_name_whole(kind):
    names = [choice.name for choice in list_choices(kind)]
    text = shown("list", kind, *names)
    assert too_wide(text.rpartition("For example: ")[0]) == []
    for name in names:
        assert f" {name} " in text


def test_the_list_of_all_names_fits():
    assert too_wide(shown("list").partition("For example: ")[0]) == []


def test_the_list_of_data_sets_fits_and_has_every_name_and_address_whole(tmp_path, monkeypatch):
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    text = shown("data", "list")
    assert too_wide(text) == []
    for name, entry in SOURCES.items():
        assert f"{name} is not installed\n" in text
        for source in entry.sources:
            kind, _, package = source.files[0].address.partition(":")
            address = package.partition(":")[0] if kind in ("npm", "debian") else source.files[0].address
            assert address in text or address.rpartition("/")[0] in text


def test_a_plan_has_the_name_of_every_task_whole(tmp_path):
    words = ("reproduce", "all", "--scale", "smoke", "--dry-run", "--out", tmp_path)
    text = shown(*words)
    assert too_wide(text.partition("Not measured: ")[0]) == []
    tasks = {run["task"] for run in json.loads(shown(*words, "--json"))["missing"]}
    assert "digits-minority" in tasks
    for task in tasks:
        assert f" {task} " in text


def test_a_table_of_the_paper_has_the_name_of_every_row_whole(tmp_path):
    words = ("--scale", "smoke", "--tasks", "phishing", "--out", tmp_path)
    text = shown("reproduce", "table8", *words)
    for row in EXPERIMENTS["table8"].rows:
        assert row.label in text


def test_a_report_says_in_narrow_lines_what_it_wrote(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "results").mkdir()
    text = shown("report", "table4", "--format", "markdown", "--results", "results")
    assert too_wide(text) == []
    assert "Written: report.md\n" in text
    assert "Table 4" in (tmp_path / "report.md").read_text()
    assert "able 10" not in (tmp_path / "report.md").read_text()  # of what was named, and of nothing else
    assert "Table 1:" not in (tmp_path / "report.md").read_text()


@pytest.mark.slow
def test_the_demo_fits_with_every_name_number_and_verdict_whole(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    text = shown("demo", "--rounds", 1)
    assert too_wide(text.partition("Next: ")[0]) == []
    row = r"^(no attackers|fedavg|invariant|[\w+]*krum_trimmed_mean) +(\d+\.\d%) +(\d+\.\d%)"
    assert len(re.findall(row, text, re.M)) == 10
