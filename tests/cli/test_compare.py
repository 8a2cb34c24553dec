import json
from pathlib import Path

import pytest

from .test_run import SEEN, holdfast

SMALL = ["--rounds", "2", "--clients", "12", "--per-round", "6", "--seeds", "2", "--workers", "1"]


def compared(tmp_path, *more, defences="fedavg,and-mask"):
    words = ("compare", "digits", "--attack", "distributed", "--defences", defences, "--out", tmp_path)
    return holdfast(*words, *SMALL, *more)


@pytest.mark.slow
def test_defences_stand_side_by_side_and_are_run_once(tmp_path):
    document = json.loads(compared(tmp_path, "--json").stdout)
    assert [standing["defence"] for standing in document["standings"]] == ["fedavg", "and_mask"]
    for standing in document["standings"]:
        assert len({*standing["attacked"], *standing["honest"]}) == 4
        for name in ("accuracy", "attack_success", "honest_accuracy", "honest_success"):
            assert 0 <= standing[name]["low"] <= standing[name]["mean"] <= standing[name]["high"] <= 1
    names = [
        "digits-distributed.html",
        "digits-distributed-under-attack.png",
        "digits-distributed-no-attack.png",
    ]
    assert document["files"] == [str(tmp_path / name) for name in names]
    page = (tmp_path / names[0]).read_text(encoding="utf-8")
    assert "Defences side by side" in page
    assert all(name in page for name in ("fedavg", "and_mask", "under attack", "no attack"))

    stored = {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    assert len(stored) == 8
    again = compared(tmp_path)
    assert stored == {path: path.stat().st_mtime_ns for path in tmp_path.rglob("*.json")}
    assert "ASR, no attack" in again.output
    spread = document["standings"][1]["accuracy"]
    assert spread["margin"] > 1  # two seeds are few
    assert f"{100 * spread['mean']:.1f} ±>100" in again.output
    assert f"Written: {tmp_path / names[1]}" in again.output


def test_figures_go_beside_the_report_and_are_named_after_it(tmp_path):
    page, out = tmp_path / "papers" / "mine.html", tmp_path / "results"
    words = ("--report", page, "--seeds", 1, "--set", "lr=0.05", "--json")
    told = json.loads(compared(out, *words, defences="median").stdout)
    names = ["mine.html", "mine-under-attack.png", "mine-no-attack.png"]
    assert told["files"] == [str(page.parent / name) for name in names]
    assert all(map(Path.is_file, map(Path, told["files"])))
    assert {path.name for path in out.iterdir()} == {"runs"}
    assert "Set: lr=0.05." in page.read_text(encoding="utf-8")


def test_what_cannot_be_compared_is_answered_before_anything_runs(tmp_path):
    result = compared(tmp_path, defences="fedavg,medain")
    assert result.exit_code == 1
    assert "no defence 'medain'; did you mean 'median'?" in result.stderr
    assert not list(tmp_path.iterdir())
    assert compared(tmp_path, defences=" , ").exit_code == 2


@pytest.mark.slow
def test_seeds_can_be_named_and_defences_compared_with_one_of_them(tmp_path):
    named = ("--seeds", "3,5", "--baseline", "fedavg")
    shown = compared(tmp_path, *named)
    assert shown.exit_code == 0, shown.output
    assert "  against fedavg  " in shown.output
    assert "The mean of 2 seeds (3, 5) after the last round" in " ".join(shown.output.split())
    assert "difference to fedavg, seed by seed" in (tmp_path / "digits-distributed.html").read_text("utf-8")
    told = json.loads(compared(tmp_path, *named, "--json").stdout)
    assert told["seeds"] == [3, 5]
    fedavg, other = told["standings"]
    assert "against" not in fedavg
    own, its = (one["honest_accuracy"]["values"] for one in (other, fedavg))
    assert other["against"]["honest_accuracy"]["values"] == [own[0] - its[0], own[1] - its[1]]


def test_seeds_and_baselines_that_are_not_there_are_refused_before_anything_runs(tmp_path):
    for words, told in (
        (("--seeds", "3,3"), "seed 3 is given twice"),
        (("--report", "mine.pdf"), "the page is HTML: write mine.html, not mine.pdf"),
        (("--seeds", "-1"), "seeds are how many, as in 3, or which, as in 3,5,7"),
        (("--baseline", "fedvag"), "no defence 'fedvag' to compare with; did you mean 'fedavg'?"),
    ):
        refused = compared(tmp_path, *words)
        assert refused.exit_code == 1
        assert told in refused.stderr
    assert not list(tmp_path.iterdir())


def test_a_defence_that_cannot_run_is_named(tmp_path):
    result = compared(tmp_path, "--malicious", "10", defences="krum")
    assert result.exit_code == 1
    assert "krum under attack 'distributed', seed 0: krum needs" in result.stderr


@pytest.mark.slow
def test_a_minority_has_columns_of_its_own(tmp_path):
    words = ("compare", "digits-minority", "--defences", "median", "--out", tmp_path, "--set", "epochs=1")
    small = ("--rounds", 1, "--clients", 12, "--per-round", 6, "--seeds", 1, "--workers", 1)
    (standing,) = json.loads(holdfast(*words, *small, "--json").stdout)["standings"]
    shown = holdfast(*words, *small).output
    assert "Minority: the same in the form that a minority has them in." in " ".join(shown.split())
    for name in ("minority_accuracy", "honest_minority_accuracy"):
        assert f" {100 * standing[name]['mean']:.1f} " in shown
    page = (tmp_path / "digits-minority-edge-case.html").read_text(encoding="utf-8")
    assert page.count('<th scope="col">Minority</th>') == 2


@pytest.mark.slow
def test_a_watch_has_columns_of_its_own_beside_defences_without_one(tmp_path):
    words = ("compare", "phishing", "--defences", "fedavg,factions+fedavg", "--out", tmp_path, *SEEN)
    few = ("--seeds", 2, "--workers", 1)
    plain, watched = json.loads(holdfast(*words, *few, "--json").stdout)["standings"]
    assert (plain["defence"], watched["defence"]) == ("fedavg", "factions+fedavg")
    assert {"n_found", "n_wronged", "honest_n_wronged"} <= set(watched) - set(plain)
    assert watched["n_found"]["values"] == [5, 5]
    assert watched["honest_n_wronged"]["values"] == [0, 0]
    shown = holdfast(*words, *few)
    assert shown.exit_code == 0, shown.output
    assert "wrongly" in shown.output
    assert " 5 ±0 " in shown.output
    assert "Found: attackers that the watch expelled; wrongly: honest" in " ".join(shown.output.split())
    stored = {path.name for path in tmp_path.rglob("*.json")}
    whole = ("compare", "phishing", "--defences", "fedavg", "--watch", "factions", "--out", tmp_path, *SEEN)
    assert holdfast(*whole, *few).exit_code == 0
    assert {path.name for path in tmp_path.rglob("*.json")} == stored  # they are the same runs
