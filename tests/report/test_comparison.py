from dataclasses import replace

import pytest

from holdfast.errors import DataError
from holdfast.lab.choices import build_contest
from holdfast.report.comparison import Standing, runs_of, standings
from holdfast.runs.results import Result


def result(accuracy, success):
    run = build_contest("phishing", ["median"])["median"][0]
    return replace(Result.start(run), records=({"accuracy": accuracy, "attack_success": success},))


def test_a_standing_has_the_last_rounds_mean_and_its_ends():
    standing = Standing("median", (result(0.9, 0.2), result(0.8, 0.4)), (result(0.95, 0.0),))
    assert standing.accuracy.mean == pytest.approx(0.85)
    assert (standing.attack_success.low, standing.attack_success.high) == (0.2, 0.4)
    assert standing.honest_success.mean == 0.0
    assert standing.as_dict()["attack_success"]["mean"] == pytest.approx(0.3)


def test_without_a_backdoor_there_is_no_success_to_tell():
    assert Standing("median", (result(0.9, None),), ()).attack_success is None


def test_every_attacked_run_has_a_twin_without_attackers():
    runs = runs_of(build_contest("digits", ["median", "rfa"], n_seeds=2, attack="edge-case"))
    assert len({run.key for run in runs}) == 8
    assert sorted({run.attack.n_malicious for run in runs}) == [0, 10]


def test_a_result_that_is_not_there_is_named(tmp_path):
    with pytest.raises(DataError, match="no result at"):
        standings(build_contest("digits", ["median"]), tmp_path)
