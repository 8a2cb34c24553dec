import json

import pytest

from holdfast.errors import DataError
from holdfast.lab.simulation import simulate
from holdfast.runs.results import pack_results
from holdfast.runs.verdicts import restored_verdicts, stored_verdicts
from holdfast.watching import Verdict, Verdicts

from .tiny import load_result, made, tiny_run, watched_run

SOME = Verdicts(
    9,
    (
        Verdict(3, "clear", heard=4, place=(0.123456, -1.5)),
        Verdict("eve", "expelled", heard=5, false_alarm=0.000123456, faction=1, since=6, place=(9.0, 0.25)),
    ),
    rewound=True,
    shared=0.4321,
)


def test_verdicts_survive_in_three_digits():
    stored = json.loads(json.dumps(stored_verdicts(SOME)))
    assert stored["clients"]["false_alarm"] == [1.0, 0.000123]
    assert stored["clients"]["place"] == [[0.123, -1.5], [9.0, 0.25]]
    back = restored_verdicts(stored)
    assert (back.round, back.hearing, back.rewound, back.shared) == (9, False, True, 0.432)
    assert [str(one) for one in back] == [str(one) for one in SOME]
    assert stored_verdicts(back) == stored


@pytest.mark.parametrize(
    "damage",
    [
        lambda stored: stored.pop("clients"),
        lambda stored: stored["clients"]["heard"].pop(),
        lambda stored: stored["clients"].update(colour=["red", "blue"]),
        lambda stored: stored.update(clients=[]),
    ],
)
def test_damaged_verdicts_are_refused(damage):
    stored = stored_verdicts(SOME)
    damage(stored)
    with pytest.raises(DataError, match="these are no verdicts, or damaged ones"):
        restored_verdicts(stored)


def test_a_run_with_a_watch_stores_every_rounds_verdicts_and_keeps_the_last_when_packed(tmp_path):
    run = watched_run()
    records = [record for record, _ in simulate(run)]
    loose = made(run, tmp_path)
    told = [restored_verdicts(record["verdicts"]) for record in loose.records]
    assert [one.of("expelled") for one in told] == [record.verdicts.of("expelled") for record in records]
    assert loose.series("n_found") == [record.n_found for record in records] == [0, 0, 5, 5, 5, 5]
    assert sum(loose.series("n_dropped")) == 0  # they could have been used
    pack_results(tmp_path)
    packed = load_result(run, tmp_path)
    assert packed.records == ()
    assert packed.summary.watched == loose.summary.watched
    assert (packed.summary.watched["hearings"], packed.summary.watched["rewinds"]) == ([1, 2], [])
    assert restored_verdicts(packed.summary.watched["verdicts"]) == told[-1]
    assert packed.series("n_found") == loose.series("n_found")


def test_a_run_without_a_watch_is_packed_as_ever(tmp_path):
    assert all("verdicts" not in record for record in made(tiny_run(), tmp_path).records)
    pack_results(tmp_path)
    (path,) = tmp_path.glob("*.jsonl")
    assert set(json.loads(path.read_text())["summary"]) == {
        "rounds",
        "n_drawn",
        "trimmed_share",
        "malicious",
        "dropped",
    }
    assert load_result(tiny_run(), tmp_path).summary.watched is None
