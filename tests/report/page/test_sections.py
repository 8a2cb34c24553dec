import copy
import re

from holdfast.report.page.sections import experiment_section, heat_section


def test_every_head_of_a_table_has_a_scope_and_every_table_a_caption(measured):
    text = experiment_section(measured["experiments"][0], 0) + heat_section(measured["experiments"])
    assert text.count("<table") == text.count("<caption>") == 2
    assert not re.findall(r"<th(?=[ >])(?![^>]*scope=)", text)


def test_columns_say_seeds_scale_and_what_they_stand_in_for(measured):
    experiment = copy.deepcopy(measured["experiments"][0])
    experiment["cells"][0] |= {"stands_in_for": "cifar10", "n_seeds": 1}
    text = experiment_section(experiment, 0)
    assert "for cifar10" in text
    assert "1 to 2 seeds" in text
    assert "scale “smoke”" in text


def test_an_experiment_without_runs_has_its_printed_numbers_and_no_curves(measured):
    experiment = copy.deepcopy(measured["experiments"][0])
    for cell in experiment["cells"]:
        cell |= {"measured": None, "keys": [], "n_seeds": 0}
    text = experiment_section(experiment, 0)
    assert "not measured" in text
    assert "paper 87.5" in text
    assert "curves" not in text


def test_the_colour_is_the_deeper_the_more_the_attack_succeeds(measured):
    experiment = copy.deepcopy(measured["experiments"][0])
    for share, cell in zip((0.04, 0.96), experiment["cells"], strict=False):
        cell["measured"]["attack_success"] = {"mean": share}
    levels = re.findall(r'data-level="(\d+)"', heat_section([experiment]))
    assert levels[:2] == ["0", "10"]


def test_of_two_experiments_with_the_same_pair_the_first_counts(measured):
    first, second = copy.deepcopy(measured["experiments"][0]), copy.deepcopy(measured["experiments"][0])
    second["cells"][0]["measured"]["attack_success"]["mean"] = 0.123
    assert heat_section([first, second]) == heat_section([first])
    assert "12.3" in heat_section([second, first])


def test_studies_are_shown_as_names_and_numbers():
    studies = {"mimicry": {"cosine": 0.93456, "by round": [0.1, 0.25]}}
    empty = {"title": "t", "note": "", "rows": [], "columns": [], "cells": [], "studies": studies}
    text = experiment_section(empty, 0)
    assert '<th scope="row">mimicry · cosine</th><td>0.9346</td>' in text
    assert "<td>0.1, 0.25</td>" in text
