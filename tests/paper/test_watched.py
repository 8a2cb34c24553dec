import pytest

from holdfast.lab import TASKS
from holdfast.lab.scenario import Run
from holdfast.paper import watched
from holdfast.paper.watched import watch_shown
from holdfast.runs.records import Summary
from holdfast.runs.results import Result
from holdfast.runs.verdicts import stored_verdicts
from holdfast.watching import Verdict, Verdicts

DESCRIPTION = Run(TASKS["phishing"]).description
N_CLIENTS = DESCRIPTION["task"]["n_clients"]


def record(number, clients, *, hearing=False, rewound=False):
    """Return the record of a round in which these clients were heard; the first of them attacks."""
    said = Verdicts(number, tuple(Verdict(one, "clear", heard=1) for one in clients), hearing, rewound)
    return {
        "round": number, "accuracy": 0.5, "attack_success": 0.5, "n_attackers": 1, "seconds": 0.1,
        "clients": clients, "attackers": clients[:1], "verdicts": stored_verdicts(said),
        "diagnostics": {
            "clients": clients,
            "trimmed_share": None,
            "dropped": [],
            "kept_fraction": None,
            "aggregated": True,
        },
    }  # fmt: skip


def loose(n_rounds, clients=(7, 1, 7 + N_CLIENTS)):
    records = [record(number, list(clients), hearing=number == 1) for number in range(1, n_rounds + 1)]
    return Result(DESCRIPTION, records=tuple(records))


def test_all_rounds_of_a_run_are_shown_with_those_who_really_attack():
    shown = watch_shown(loose(3))
    assert [said["round"] for said in shown["rounds"]] == [1, 2, 3]
    assert (shown["hearings"], shown["rewinds"]) == ([1], [])
    assert shown["malicious"] == [7, 7 + N_CLIENTS]  # the second is a new id of the first


def test_of_a_packed_run_the_last_round_is_shown():
    result = loose(3)
    packed = Result(DESCRIPTION, packed=Summary.of(result.records))
    shown = watch_shown(packed)
    assert shown["rounds"] == [result.records[-1]["verdicts"]]
    assert {**watch_shown(result), "rounds": None} == {**shown, "rounds": None}


@pytest.mark.parametrize(("most", "kept"), [(21, [1, 2, 3, 4, 5, 6, 7]), (20, [1, 3, 5, 7]), (6, [3, 7])])
def test_of_a_long_run_rounds_are_left_out_evenly_and_the_last_one_stays(monkeypatch, most, kept):
    monkeypatch.setattr(watched, "MOST_VERDICTS", most)
    assert [said["round"] for said in watch_shown(loose(7))["rounds"]] == kept


def test_a_run_without_a_watch_has_none():
    plain = {name: value for name, value in record(1, [1]).items() if name != "verdicts"}
    assert watch_shown(Result(DESCRIPTION, records=(plain,))) is None
