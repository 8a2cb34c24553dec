"""Defences by their worst case, as texts and on the page."""

import pytest

from holdfast.paper.experiment import document
from holdfast.paper.worst_case import FOR_A_WATCH, UNTARGETED, WATCHED, WorstCase, attacks_on, worst_of
from holdfast.report.pages import results_page
from holdfast.report.tables import table_text
from holdfast.report.worst import worst_rows


def cell(defence, attack, success, accuracy=0.9):
    measured = None
    if accuracy is not None:
        asr = None if success is None else {"mean": success, "values": [success], "std": 0.0}
        measured = {"attack_success": asr, "accuracy": {"mean": accuracy, "values": [accuracy], "std": 0.0}}
    own = {"row": defence, "column": attack, "attack": attack, "defence": defence, "task": "digits"}
    return {**own, "measured": measured, "n_seeds": 1, "n_wanted": 1, "keys": [], "printed": None,
            "stands_in_for": None, "x": None, "scale": "cpu", "seeds": [0]}  # fmt: skip


CELLS = [
    cell("fedavg", "none", 0.05, 0.95),
    cell("fedavg", "edge-case", 1.0),
    cell("fedavg", "sign-flip", None, 0.1),
    cell("fedavg", "iba", 0.8),
    cell("median", "none", None, 0.93),
    cell("median", "edge-case", 0.3),
    cell("median", "sign-flip", None, 0.85),
    cell("median", "iba", 0.7, 0.8),
    cell("rfa", "edge-case", None, None),
]
EXPERIMENT = {
    "name": "worst_case_digits", "title": "The worst case on digits", "kind": "table", "note": "All.",
    "axis": None, "rows": ["fedavg", "median", "rfa"], "columns": ["none", "edge-case", "sign-flip", "iba"],
    "cells": CELLS, "studies": {}, "analyses": {}, "baseline": None, "over_attacks": True,
}  # fmt: skip


def test_the_worst_attack_and_the_lowest_accuracy_are_found_and_no_attack_is_none():
    assert worst_of(CELLS[:4]) == {
        "attack_success": 1.0, "by": "edge-case", "accuracy": 0.1, "accuracy_by": "sign-flip", "n_attacks": 3,
    }  # fmt: skip
    assert worst_of(CELLS[:1]) is None
    assert worst_of([CELLS[2]])["attack_success"] is None


def test_the_defence_that_holds_best_comes_first_and_what_is_not_measured_is_left_out():
    median, fedavg = worst_rows(EXPERIMENT)
    assert (median.defence, median.attack_success, median.by) == ("median", 0.7, "iba")
    assert (median.honest_accuracy, median.accuracy, median.accuracy_by) == (0.93, 0.8, "iba")
    assert fedavg.attack_success == 1.0


def test_a_defence_tried_with_fewer_attacks_does_not_come_first():
    few = {**EXPERIMENT, "cells": [*CELLS, cell("rfa", "iba", 0.0)]}
    assert [row.defence for row in worst_rows(few)] == ["median", "fedavg", "rfa"]


@pytest.mark.parametrize("format", ["markdown", "latex"])
def test_a_text_has_one_line_per_defence(format):
    text = table_text(EXPERIMENT, format, scale="cpu")
    line = next(line for line in text.splitlines() if "median" in line)
    for word in (".930", ".700", "iba", ".800"):
        assert word in line


def test_the_csv_has_every_pair():
    assert len(table_text(EXPERIMENT, "csv", scale="cpu").splitlines()) == 1 + len(CELLS)


def test_the_page_has_the_worst_cases_the_map_with_them_and_no_curves():
    found = {"version": "1", "scale": "cpu", "claims": [], "unusable": {}, "experiments": [EXPERIMENT]}
    page = results_page({**found, "runs": {"key": {"series": {}}}})
    assert '<table class="worst">' in page
    assert 'title="3 attacks measured; most success: iba; lowest accuracy: iba"' in page
    assert '<th scope="col">worst case</th>' in page
    assert 'class="curves"' not in page
    assert '"runs":{}' in page
    assert "1 run<" in page


def test_every_attack_meets_every_defence_and_whitewashers_those_who_watch():
    found = WorstCase("worst_case_digits", "digits")(scale="smoke", n_seeds=1)
    pairs = {(one.row, one.column) for one in found.cells}
    assert ("median", "edge-case+neurotoxin") in pairs
    assert ("factions+fedavg", f"edge-case+{FOR_A_WATCH[0]}") in pairs
    assert ("fedavg", f"edge-case+{FOR_A_WATCH[0]}") not in pairs
    n_attacks = len(attacks_on("digits")) + 1
    assert len(pairs) == len(found.rows) * n_attacks - (len(found.rows) - len(WATCHED)) * len(FOR_A_WATCH)
    assert all(len(one.runs) == 1 for one in found.cells)
    assert set(UNTARGETED) <= set(found.columns)


def test_the_experiment_goes_through_a_document(tmp_path):
    found = document([WorstCase("worst_case_digits", "digits")(n_seeds=1)], tmp_path, scale="cpu")
    assert found["experiments"][0]["over_attacks"]
    assert "not measured" in results_page(found)
