import json

import pytest

from .test_run import holdfast

SMALL = (
    "--clients",
    12,
    "--per-round",
    10,
    "--set",
    "n_train=600",
    "--set",
    "n_test=100",
    "--set",
    "n_root=20",
)


def probed(tmp_path, *more, defences="fedavg,median"):
    return holdfast("probe", "phishing", "--defences", defences, "--out", tmp_path, *SMALL, *more)


def test_rules_stand_side_by_side_on_one_round(tmp_path):
    document = json.loads(probed(tmp_path, "--after", 1, "--json").stdout)
    assert (document["task"], document["attack"], document["seed"]) == ("phishing", "edge-case", 0)
    assert document["start"] == "after 1 round of plain averaging"
    assert document["share"] == pytest.approx(0.2, abs=0.1)
    assert [record["defence"] for record in document["records"]] == ["fedavg", "median"]
    assert document["records"][0]["leak"] == pytest.approx(document["share"], rel=0.02)
    shown = probed(tmp_path, "--after", 1)
    assert f"{document['records'][1]['leak']:.3f}" in shown.stdout
    assert f"{document['records'][1]['dose']:.3f}" in shown.stdout
    assert len(list((tmp_path / "studies").iterdir())) == 1
    assert "Kept: " not in shown.stdout  # where no rule has a mask, there is no such column


def test_a_figure_is_drawn_where_it_is_asked_for(tmp_path):
    pytest.importorskip("matplotlib")
    result = probed(tmp_path, "--figure", tmp_path / "leaks.svg")
    assert f"Written: {tmp_path / 'leaks.svg'}" in result.stdout
    assert (tmp_path / "leaks.svg").read_bytes().startswith(b"<?xml")


def test_what_cannot_be_probed_is_answered_before_anything_runs(tmp_path):
    assert "a figure must be one of png" in probed(tmp_path, "--figure", "leaks.gif").stderr
    assert "no defence 'medain'; did you mean 'median'?" in probed(tmp_path, defences="medain").stderr
    assert "name the rule alone" in probed(tmp_path, defences="factions+median").stderr
    assert "no model at" in probed(tmp_path, "--model", tmp_path / "absent.pt").stderr
    assert "take only one of after, warm" in probed(tmp_path, "--after", 3, "--warm", 1).stderr
    assert probed(tmp_path, defences=" , ").exit_code == 2
    assert not list(tmp_path.iterdir())
