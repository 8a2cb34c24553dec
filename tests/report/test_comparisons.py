"""A comparison as a table, in every format, from numbers that can be checked by hand."""

import csv
import io
import json

import pytest

from holdfast.errors import InputError
from holdfast.paper.comparison import ATTACKED, HONEST
from holdfast.paper.statistics import against, spread
from holdfast.report.comparisons import comparison_rows, comparison_text

SEEDS = [3, 5, 7]


def cell(row, column, numbers, seeds):
    measured = {
        prefix + name: spread([share - less for share in values[: len(seeds)]], most=100)
        for name, values in numbers.items()
        for prefix, less in (("", 0), ("last10_", 0.1))
    }
    return {
        "row": row, "column": column, "seeds": seeds, "measured": measured or None, "keys": [],
        "n_seeds": len(seeds), "n_wanted": len(SEEDS), "printed": None, "stands_in_for": None,
    }  # fmt: skip


def compared(rows, *, baseline=None, seeds=SEEDS):
    """Return the experiment of rows: [defence][column] the numbers of its seeds, by name."""
    cells = [
        cell(row, column, numbers, seeds)
        for row, columns in rows.items()
        for column, numbers in columns.items()
    ]
    for one in cells:
        if baseline is not None and one["row"] != baseline and one["measured"]:
            (other,) = [it for it in cells if (it["row"], it["column"]) == (baseline, one["column"])]
            one["measured"]["against"] = {"baseline": baseline, **against(one, other)}
    return {
        "name": "own", "title": "digits_0: 2 of 9 clients attack", "note": "30 rounds.", "rows": list(rows),
        "columns": [ATTACKED, HONEST], "cells": cells, "baseline": baseline,
    }  # fmt: skip


FEDAVG = {
    ATTACKED: {"accuracy": [0.90, 0.94, 0.92], "attack_success": [1.0, 1.0, 1.0]},
    HONEST: {"accuracy": [0.95, 0.95, 0.95], "attack_success": [0.1, 0.1, 0.1]},
}
MINE = {
    ATTACKED: {"accuracy": [0.80, 0.86, 0.83], "attack_success": [0.2, 0.2, 0.2], "n_found": [2, 2, 1]},
    HONEST: {"accuracy": [0.95, 0.94, 0.96], "attack_success": [0.1, 0.1, 0.1], "n_wronged": [0, 0, 0]},
}
PAIR = {"fedavg": FEDAVG, "mine.my_rule": MINE}
UNWATCHED = {
    row: {column: {name: own[name] for name in own if name[:2] != "n_"} for column, own in columns.items()}
    for row, columns in PAIR.items()
}


def lines(rows=PAIR, *, format="text", baseline="fedavg", seeds=SEEDS):
    return comparison_text(compared(rows, baseline=baseline, seeds=seeds), format).splitlines()


def split(line):
    return [word.strip() for word in line.split("  ") if word.strip()]


def test_text_has_the_mean_its_margin_the_last_ten_rounds_and_the_difference():
    title, _, head, _, fedavg, fedavg10, mine, _, difference, _, *told = lines(UNWATCHED)
    assert title == "digits_0: 2 of 9 clients attack; 30 rounds."
    assert split(head) == ["defence", "Acc", "ASR", "Acc, no attack", "ASR, no attack"]
    assert split(fedavg) == ["fedavg", "92.0 ±5.0", "100.0 ±0.0", "95.0 ±0.0", "10.0 ±0.0"]
    assert split(fedavg10) == ["last 10 rounds", "82.0 ±5.0", "90.0 ±0.0", "85.0 ±0.0", "0.0 ±0.0"]
    assert split(mine) == ["mine.my_rule", "83.0 ±7.5", "20.0 ±0.0", "95.0 ±2.5", "10.0 ±0.0"]
    assert split(difference) == ["against fedavg", "-9.0 ±2.5*", "-80.0 ±0.0*", "+0.0 ±2.5", "+0.0 ±0.0"]
    words = " ".join(told)
    assert "The mean of 3 seeds (3, 5, 7) after the last round ± half of its 95 % interval;" in words
    assert "and the difference to the baseline, seed by seed. * The 95 % interval of the difference" in words
    assert "Found" not in words
    assert "Minority" not in words


def test_what_is_too_wide_for_a_terminal_stands_in_two_tables():
    found = lines()
    assert max(map(len, found)) <= 80
    assert split(found[2]) == ["defence", "Acc", "ASR", "found"]
    assert split(found[6]) == ["mine.my_rule", "83.0 ±7.5", "20.0 ±0.0", "1.67 ±1.43"]
    assert split(found[8]) == ["against fedavg", "-9.0 ±2.5*", "-80.0 ±0.0*", "-"]
    assert split(found[10]) == ["defence", "Acc, no attack", "ASR, no attack", "wrongly, no attack"]
    assert split(found[14]) == ["mine.my_rule", "95.0 ±2.5", "10.0 ±0.0", "0 ±0"]
    assert "Found: attackers that the watch expelled" in " ".join(found)


@pytest.mark.parametrize("n_rounds", [10, 11])
def test_the_last_ten_rounds_are_shown_where_there_are_more(n_rounds):
    experiment = compared(UNWATCHED)
    for one in experiment["cells"]:
        one["measured"]["longest"] = n_rounds
    text = " ".join(comparison_text(experiment, "text").split())
    assert ("last 10 rounds" in text) == ("the mean of the last ten rounds" in text) == (n_rounds > 10)
    assert ("after the last round ± half of its 95 % interval." in text) == (n_rounds <= 10)


def test_without_a_baseline_nothing_is_said_of_differences():
    text = "\n".join(lines(baseline=None))
    assert "against" not in text
    assert "difference" not in text


def test_one_seed_has_its_number_alone():
    found = lines(UNWATCHED, seeds=[3])
    assert found[4].split() == ["fedavg", "90.0", "100.0", "95.0", "10.0"]
    assert found[8].split() == ["against", "fedavg", "-10.0", "-80.0", "+0.0", "+0.0"]
    assert "The mean of 1 seed (3) after the last round; beneath" in " ".join(found)


def test_what_is_not_measured_has_a_dash():
    found = lines({**UNWATCHED, "median": {ATTACKED: {}, HONEST: {}}})
    assert found[9].split() == ["median", *"----"]
    assert found[10] == ""


def test_a_minority_has_its_column():
    with_minority = {
        "fedavg": {**FEDAVG, ATTACKED: {**FEDAVG[ATTACKED], "minority_accuracy": [0.5, 0.5, 0.5]}}
    }
    found = lines(with_minority, baseline=None)
    assert "  Acc, minority  " in found[2]
    assert "  50.0 ±0.0  " in found[4]
    assert "Minority: the same in the form that a minority has them in." in " ".join(found)


def test_markdown_and_latex_have_the_same_rows():
    markdown = lines(format="markdown")
    assert markdown[0] == "### digits_0: 2 of 9 clients attack"
    assert markdown[-1] == (
        "| &nbsp;&nbsp;against fedavg | −9.0 ±2.5* | −80.0 ±0.0* | – | +0.0 ±2.5 | +0.0 ±0.0 | – |"
    )
    latex = lines(format="latex")
    assert "mine.my\\_rule & 83.0 $\\pm$7.5 & " in "\n".join(latex)
    assert latex[-4] == (
        "\\quad against fedavg & $-$9.0 $\\pm$2.5* & $-$80.0 $\\pm$0.0* & --"
        " & +0.0 $\\pm$2.5 & +0.0 $\\pm$0.0 & -- \\\\"
    )


def test_html_tells_of_every_seed_where_one_points():
    html = "\n".join(lines(format="html"))
    assert (
        '<td title="95 % interval −11.5 to −6.5; seed by seed −10.0, −8.0, −9.0; lowest −10.0, highest −8.0;'
        ' p = 0.0041 by the paired t test; p = 0.25 by flipped signs">−9.0 ±2.5*</td>'
    ) in html
    assert "<td>–</td>" in html
    named = {"<b>": PAIR["fedavg"]}
    assert "<b>" not in "\n".join(lines(named, baseline=None, format="html"))


def test_csv_has_one_line_per_defence_with_all_numbers():
    experiment = compared(PAIR, baseline="fedavg")
    fedavg, mine = csv.DictReader(io.StringIO(comparison_text(experiment, "csv")))
    assert (fedavg["defence"], mine["defence"]) == ("fedavg", "mine.my_rule")
    assert float(mine["accuracy_mean"]) == pytest.approx(0.83)
    assert float(mine["last10_honest_accuracy_mean"]) == pytest.approx(0.85)
    assert float(mine["accuracy_against_interval_high"]) == pytest.approx(-0.0652, abs=1e-4)
    assert mine["accuracy_against_excludes_zero"] == "True"
    assert mine["attack_success_against_p_flips"] == "0.25"
    assert (fedavg["accuracy_against_mean"], fedavg["n_found_mean"]) == ("", "")
    rows = comparison_rows(experiment)
    assert list(rows[0]) == list(rows[1]) == list(fedavg)
    assert json.loads(json.dumps(rows, allow_nan=False)) == rows


def test_another_format_is_refused():
    with pytest.raises(InputError, match="must be one of text, markdown, latex, csv, html; got 'word'"):
        comparison_text(compared(PAIR), "word")
