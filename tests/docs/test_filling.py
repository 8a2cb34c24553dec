"""What is filled into pages: the main table, the verdicts, claims with their seeds and intervals."""

import doctest
from importlib import import_module

import pytest

pytest.importorskip("filling", reason="no docs beside the tests")
from filling import findings, watched

ROW = "Watch, Krum, trimmed mean"


def spread(*values):
    return {
        "mean": sum(values) / max(1, len(values)),
        "values": list(values),
        "interval": [0.25, 1.0] if len(values) > 1 else None,
    }


def cell(row, *values, task="digits", printed=None, **more):
    measured = {name: spread(*values) for name in ("accuracy", "attack_success", "n_found", "n_wronged")}
    measured |= {f"last10_{name}": spread(*values) for name in ("accuracy", "attack_success")}
    return {
        "row": row, "task": task, "column": task, "attack": "edge-case", "keys": ["a"], "stands_in_for": None,
        "n_seeds": len(values), "printed": printed, "measured": measured if values else None, **more,
    }  # fmt: skip


def document(*cells, name="table1", claims=()):
    run = {"malicious": [0, 1, 2]}
    return {"experiments": [{"name": name, "cells": cells}], "claims": claims, "runs": {"a": run}}


def claim(verdict, numbers="", **more):
    return {
        "id": "claim-1", "source": "Section 1", "text": "It holds.", "task": "digits", "verdict": verdict,
        "numbers": numbers, "is_ours": False, **more,
    }  # fmt: skip


def test_three_seeds_have_an_interval_and_fewer_are_preliminary():
    printed = {"accuracy": 0.999, "attack_success": 0.001}
    table = findings.main_text(
        document(
            cell("FedAvg", 0.5, 0.5, 0.5),
            cell("FedAvg", 0.5, task="cifar10", printed=printed),
            cell("FedAvg", task="twitter"),
        )
    )
    lines = table.replace("&nbsp;", " ").splitlines()
    (row,) = [line for line in lines if line.startswith("| plain averaging |")]
    assert "| .500 / .50 [.25, 1.00]<br>ten: .500 / .50 [.25, 1.00] |" in row
    assert "| .500 / .50<br>ten: .500 / .50<br>*preliminary: 1 seed*<br>*paper: .999 / .00* |" in row
    assert row.endswith("| not measured |")


def test_what_is_printed_of_another_task_does_not_stand_beside_ours():
    other = cell(
        "FedAvg", 0.5, 0.5, 0.5, printed={"accuracy": 1, "attack_success": 0}, stands_in_for="cifar10"
    )
    assert "paper" not in findings.main_text(document(other)).partition("| plain averaging")[2].split("\n")[0]


@pytest.mark.parametrize(
    ("one", "shown"),
    [
        (claim("holds"), "**holds**"),
        (claim("does not hold"), "does not hold"),
        (claim("not measured"), "–"),
        (claim("preliminary", "holds with 2 of 3 seeds: x"), "*preliminary (2 seeds):* holds"),
    ],
)
def test_verdicts_stand_under_their_task(one, shown):
    (row,) = findings.verdicts_text(document(claims=[one])).replace("&nbsp;", " ").splitlines()[2:]
    assert row == f"| It holds. (Section 1) |  |  |  |  |  |  | {shown} |"


def test_checks_of_ours_are_left_to_the_page_of_all_claims():
    ours = claim("holds", id="claim-8d", source="our check of Table 1", is_ours=True)
    assert len(findings.verdicts_text(document(claims=[ours])).splitlines()) == 2


def test_the_papers_statements_are_counted_apart_from_ours_and_its_tasks_apart_from_digits():
    claims = [
        claim("holds", task="phishing-noniid"),
        claim("does not hold", task="cifar10-resnet18"),
        claim("holds", task="phishing"),
        claim("does not hold", task="cifar10", is_ours=True),
        claim("holds"),
    ]
    lines = findings.counted_by_task_text(document(claims=claims)).splitlines()
    assert "| **all of its tasks** | 1 claim holds, 1 does not hold | 1 claim does not hold |" in lines
    assert lines[-1] == "| digits | 1 claim holds |  |"
    own, ours = findings.counted_text(document(claims=claims)).splitlines()
    assert (
        "on its tasks 1 claim holds, 1 does not hold; on digits and on phishing dealt i.i.d. 2 claims hold"
        in own
    )
    assert "1 claim does not hold" in ours


def test_verdicts_of_several_protocols_stand_in_one_cell_each_with_its_protocol():
    tasks = ("cifar10-resnet18", "cifar10-released")
    (row,) = findings.verdicts_text(
        document(claims=[claim("holds", task=task) for task in tasks])
    ).splitlines()[2:]
    assert row.split(" | ")[1] == "its protocol: **holds**<br>its release: **holds**"


def test_a_claim_carries_its_seeds_and_the_interval_of_every_attack_success():
    cells = [cell("FedAvg", 0.5, 0.5, 0.5), cell("Invariant", 0.5)]
    one = claim("holds", "FedAvg Acc 50.0%, ASR 50.0%; Invariant Acc 50.0%, ASR 50.0%")
    numbers = "FedAvg Acc 50.0%, ASR 50.0% [25, 100]; Invariant Acc 50.0%, ASR 50.0%"
    text, line = findings.claims_text(document(*cells, claims=[one])).replace("&nbsp;", " ").split("\n\n")
    assert text == "**It holds.** (Section 1)"
    assert line == f"- digits, 1 to 3 seeds: **holds**. {numbers}\n"


def test_claims_without_numbers_are_listed_with_their_tasks():
    left = [claim("not measured", task=task) for task in ("cifar10", "twitter")]
    assert "| Section 1: It holds. | cifar10, twitter |" in findings.missing_text(document(claims=left))
    assert findings.missing_text(document(claims=[claim("holds")])) == "None.\n"


def test_means_of_the_last_rounds_stand_beside_the_last():
    found = document(cell("FedAvg", 0.5, task="cifar10"), cell("Median", 0.5, 0.5, 0.5))
    rows = findings.last_ten_text(found).replace("&nbsp;", " ")
    assert rows.splitlines()[2:] == ["| FedAvg | .500 / .50 | .500 / .50 | 1 |"]
    rows = findings.last_ten_of_all_text(found).replace("&nbsp;", " ")
    assert rows.splitlines()[2:] == [
        "| FedAvg | – | – | – | .500 / .50 | – |",
        "| Median | – | – | .500 / .50 [.25, 1.00] | – | – |",
    ]


def test_who_was_found_is_counted_by_seed():
    table = watched.found_text(document(cell(ROW, 3, 3, 2), name="watch"))
    assert table.splitlines()[2:] == ["| digits | 3 | 3, 3, 2 | 8 |"]


def test_the_worst_attack_on_a_defence_is_named():
    cells = [
        cell(f"{ROW}{part}", value, task=task)
        for task in ("digits", "phishing")
        for part, value in (("", 0.1), (": sleeper", 0.3))
    ]
    (row,) = watched.worst_text([{"name": "hiding", "cells": cells}]).splitlines()[2:3]
    assert row == f"| **{ROW}** | 0.30 (sleeper) | 0.20 | 0.30 (sleeper) | 0.20 |"


@pytest.mark.parametrize("name", ["fill", "filling.grid", "making.stored", "making.tutorials"])
def test_the_examples_of_what_makes_the_pages_hold(name):
    found = doctest.testmod(import_module(name))
    assert found.attempted > 0
    assert found.failed == 0
