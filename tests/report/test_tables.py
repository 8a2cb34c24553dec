import csv
import io
import json
import re

import pytest

from holdfast.errors import InputError
from holdfast.report.tables import check_format, claims_text, document_text, measured_text, table_text

from .documents import claim


def spread(mean, std=0.01):
    ends = {"low": mean - std, "high": mean + std, "margin": 2 * std}
    return {"mean": mean, "std": std, "variance": std**2, **ends, "values": []}


def cell(row, column, *, measured=True, printed=True, stands_in_for=None, n_seeds=3):
    numbers = {"accuracy": spread(0.9), "attack_success": spread(0.051, 0.002),
               "last10_accuracy": spread(0.8), "last10_attack_success": spread(0.1)}  # fmt: skip
    return {
        "row": row, "column": column, "task": column, "attack": "edge-case", "defence": "median",
        "stands_in_for": stands_in_for, "n_seeds": n_seeds, "n_wanted": 3,
        "measured": numbers if measured else None,
        "printed": {"accuracy": 0.679, "attack_success": 0.717} if printed else None,
    }  # fmt: skip


EXPERIMENT = {
    "name": "table0", "title": "Table 0: 5 % α", "note": "A note.", "rows": ["Median", "x_y"],
    "columns": ["phishing", "digits"],
    "cells": [cell("Median", "phishing"), cell("Median", "digits", stands_in_for="cifar10", n_seeds=1),
              cell("x_y", "digits", measured=False, printed=False)],
}  # fmt: skip


def row(experiment, place):
    """Return the cells of a row of the Markdown table."""
    return table_text(experiment, "markdown", scale="cpu").splitlines()[6 + place].split(" | ")


def test_ours_stands_beside_the_printed_numbers():
    assert row(EXPERIMENT, 0)[1] == ".900 ±.010 / .051 ±.002 [.679 / .717]"


def test_one_seed_has_no_spread_and_a_stand_in_is_named():
    assert row(EXPERIMENT, 0)[2] == ".900 / .051 (1 of 3 seeds) [.679 / .717 on cifar10] |"


def test_what_is_not_measured_is_said_not_to_be():
    assert measured_text(EXPERIMENT["cells"][2]) == "not measured"


def test_markdown_has_one_line_per_row_and_says_the_scale():
    lines = table_text(EXPERIMENT, "markdown", scale="cpu").splitlines()
    assert lines[0] == "### Table 0: 5 % α"
    assert "at the scale cpu" in lines[2]
    assert lines[4] == "|  | phishing | digits |"
    assert lines[7] == "| x_y |  | not measured |"


def test_csv_has_one_line_per_cell():
    lines = list(csv.DictReader(table_text(EXPERIMENT, "csv", scale="smoke").splitlines()))
    assert [line["row"] for line in lines] == ["Median", "Median", "x_y"]
    assert lines[0]["accuracy_mean"] == "0.9"
    assert lines[0]["attack_success_std"] == "0.002"
    assert lines[0]["attack_success_margin"] == "0.004"
    assert lines[0]["last10_attack_success_mean"] == "0.1"
    assert lines[0]["printed_attack_success"] == "0.717"
    assert lines[2]["accuracy_mean"] == ""
    assert {line["scale"] for line in lines} == {"smoke"}


WILD = "\\input{/etc/passwd} $x^2$ ~ {a}|b <script>alert(1)</script> [c](http://d)\n\n# e\x1b[2J"


def named(name):
    """Return an experiment all of whose names are this."""
    cells = [{**cell, "row": name, "column": name} for cell in EXPERIMENT["cells"][:1]]
    return {**EXPERIMENT, "title": name, "note": name, "rows": [name], "columns": [name], "cells": cells}


def test_no_name_means_anything_to_latex():
    text = table_text(named(WILD), "latex", scale="cpu")
    assert text.count(r"\textbackslash{}input\{/etc/passwd\} \$x\textasciicircum{}2\$ \textasciitilde{}") == 4
    assert text.count(r"\input") == 0
    assert "\n\n" not in text
    assert "\x1b" not in text
    commands = set(re.findall(r"\\[a-z]+", text))
    signs = {r"\textbackslash", r"\textasciicircum", r"\textasciitilde", r"\textless", r"\textgreater"}
    own = {r"\begin", r"\caption", r"\toprule", r"\midrule", r"\bottomrule", r"\end", r"\pm"}
    assert commands == own | signs


@pytest.mark.parametrize("name", ["[1pt]", "*"])
def test_no_name_is_an_argument_of_the_line_before_it(name):
    assert f"\\midrule\n{{}}{name} &" in table_text(named(name), "latex", scale="cpu")


def test_no_name_means_anything_to_markdown():
    experiment = named(WILD)
    table, claims = table_text(experiment, "markdown", scale="cpu"), claims_text([claim("holds", WILD)])
    assert len(table.splitlines()) == 7
    for text in (table, claims):
        assert "<" not in text
        assert "](" not in text
        assert "\x1b" not in text
        assert all(len(re.findall(r"(?<!\\)\|", line)) in (0, 3, 6) for line in text.splitlines())


def test_latex_escapes_what_means_something_to_it():
    text = table_text(EXPERIMENT, "latex", scale="cpu")
    assert "\\caption{Table 0: 5 \\% $\\alpha$." in text
    assert "x\\_y &  & not measured \\\\" in text
    assert text.count("{") == text.count("}")
    assert "±" not in text


def test_another_format_is_refused():
    with pytest.raises(InputError, match="markdown, csv, latex; got 'word'"):
        table_text(EXPERIMENT, "word", scale="cpu")


CLAIM = {"source": "Table 1", "text": "It holds.", "task": "digits", "verdict": "holds",
         "numbers": "ASR .1", "scale": "cpu"}  # fmt: skip


def test_claims_are_a_table_of_verdicts():
    assert claims_text([CLAIM]).splitlines()[2] == "| Table 1: It holds. | digits | holds | ASR .1 | cpu |"


DOCUMENT = {
    "scale": "cpu", "claims": [], "runs": {},
    "experiments": [EXPERIMENT, {**EXPERIMENT, "name": "table00", "title": "Table 00"}],
}  # fmt: skip


def test_csv_of_a_document_is_one_table_with_one_head():
    rows = list(csv.DictReader(io.StringIO(document_text(DOCUMENT, "csv"))))
    assert [row["experiment"] for row in rows] == ["table0"] * 3 + ["table00"] * 3


def test_markdown_of_a_document_has_the_claims_and_every_table():
    text = document_text({**DOCUMENT, "claims": [CLAIM]}, "markdown")
    assert text.startswith("## Claims\n\n| claim |")
    assert "It holds." in text
    assert all(f"### {one['title']}" in text for one in DOCUMENT["experiments"])


def test_markdown_of_a_document_that_decides_no_claims_has_the_tables_alone():
    text = document_text(DOCUMENT, "markdown")
    assert "Claims" not in text
    assert all(f"### {one['title']}" in text for one in DOCUMENT["experiments"])


def test_latex_of_a_document_has_every_table():
    assert document_text(DOCUMENT, "latex").count("\\begin{table}") == 2


def test_json_of_a_document_is_the_document():
    assert json.loads(document_text(DOCUMENT, "json")) == DOCUMENT


def test_another_format_of_a_report_is_refused():
    with pytest.raises(InputError, match="must be one of html, markdown, csv, latex, json; got 'word'"):
        check_format("word")
