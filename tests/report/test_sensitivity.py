import pytest

pytest.importorskip("matplotlib")

from holdfast.report.sensitivity import draw_sensitivity


def cell(task, x, success):
    def spread(mean):
        return {"mean": mean, "low": mean - 0.05, "high": mean + 0.1}

    measured = {"accuracy": spread(0.9), "attack_success": spread(success)}
    stands_in = "cifar10" if task == "digits" else None
    return {"task": task, "x": x, "measured": measured, "stands_in_for": stands_in}


def experiment(*cells, columns=("phishing", "digits", "cifar10")):
    return {
        "name": "figure6a", "title": "Figure 6a: τ", "axis": "τ", "cells": list(cells), "columns": columns,
    }  # fmt: skip


def test_a_panel_a_task_with_the_means_and_the_seeds_spread(tmp_path, monkeypatch):
    figures = []
    monkeypatch.setattr(
        "holdfast.report.sensitivity.save", lambda figure, path: figures.append(figure) or path
    )
    drawn = draw_sensitivity(
        experiment(cell("phishing", 0.2, 0.5), cell("phishing", 0.6, 0.1), cell("digits", 0.2, 0.7)),
        tmp_path,
        scale="cpu",
    )
    phishing, digits = figures[0].axes
    accuracy, success = phishing.containers
    assert accuracy.lines[0].get_ydata().tolist() == [0.9, 0.9]
    assert success.lines[0].get_xdata().tolist() == [0.2, 0.6]
    assert success.lines[0].get_ydata().tolist() == [0.5, 0.1]
    lower, upper = success.lines[1]
    assert lower.get_ydata().tolist() == pytest.approx([0.45, 0.05])
    assert upper.get_ydata().tolist() == pytest.approx([0.6, 0.2])
    assert digits.get_title(loc="left") == "digits, for cifar10"
    assert "cpu" in drawn["caption"]
    assert set(drawn["files"]) == {"png", "svg"}


def test_files_are_written_and_nothing_measured_draws_nothing(tmp_path):
    drawn = draw_sensitivity(experiment(cell("digits", 0.2, 0.7)), tmp_path, scale="cpu", formats=("svg",))
    assert (tmp_path / "figure6a.svg").read_text().startswith("<?xml")
    assert drawn["files"] == {"svg": str(tmp_path / "figure6a.svg")}
    empty = {**cell("digits", 0.2, 0.7), "measured": None}
    assert draw_sensitivity(experiment(empty), tmp_path, scale="cpu") is None
