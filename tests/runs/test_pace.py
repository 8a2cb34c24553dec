import pytest

from holdfast.lab.choices import Numbers, build_run
from holdfast.paper import experiments_named
from holdfast.runs.pace import Pace, TimeLeft

DIGITS = build_run("digits", attack="edge-case")


def test_the_pace_of_a_task_is_that_of_its_rounds():
    pace = Pace()
    pace.add(DIGITS, n_rounds=10, seconds=20.0)
    assert pace.seconds_per_round(DIGITS.replace(seed=3)) == 2.0
    half = build_run("digits", attack="edge-case", numbers=Numbers(n_per_round=10))
    assert pace.seconds_per_round(half) == 1.0
    assert pace.seconds_per_round(build_run("phishing")) is None


def test_another_scale_is_told_by_the_work_it_does():
    pace = Pace()
    pace.add(DIGITS, n_rounds=1, seconds=2.0)
    small = build_run("digits", scale="smoke")  # 10 of 20 clients instead of 20 of 50: 5 / 4 of the data
    assert pace.seconds_per_round(small) == pytest.approx(2.5)


def test_what_was_made_itself_counts_more_than_what_is_like_it():
    pace = Pace()
    pace.add(DIGITS, n_rounds=10, seconds=10.0)
    flip = build_run("digits", attack="edge-case", defence="flip")
    pace.add(flip, n_rounds=1, seconds=30.0)
    assert pace.seconds_per_round(DIGITS) == 1.0
    assert pace.seconds_per_round(flip) == 30.0


def test_everything_for_everybody_is_reckoned_as_the_work_it_is():
    pace = Pace()
    pace.add(DIGITS, n_rounds=1, seconds=2.0)
    (one,) = experiments_named(["table10"], n_seeds=1, tasks=["digits"])
    assert pace.seconds_per_round(one.cells[0].runs[0]) == pytest.approx(2.0)


def test_the_time_left_counts_what_is_done_and_the_workers():
    pace = Pace()
    pace.add(DIGITS, n_rounds=1, seconds=2.0)
    runs = {f"{seed}": DIGITS.replace(seed=seed) for seed in range(3)}
    assert (
        pace.time_left(runs, {"0": 30, "1": 10}, n_workers=2).seconds == 60.0
    )  # no run is shorter than itself
    assert pace.time_left(runs, {}, n_workers=2) == TimeLeft(90.0)


def test_what_was_never_made_is_said_to_be_unknown():
    pace = Pace()
    pace.add(DIGITS, n_rounds=1, seconds=2.0)
    left = pace.time_left({"a": DIGITS, "b": build_run("phishing")}, {}, n_workers=1)
    assert str(left) == "more than 1 min: no round of phishing made yet"
    assert str(Pace().time_left({"b": build_run("phishing")}, {}, n_workers=1)).startswith(
        "unknown: no round"
    )
