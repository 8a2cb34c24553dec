import json

import pytest

from holdfast.errors import DataError
from holdfast.lab.data import reordered
from holdfast.runs.epochs import CHANGES, code_epoch
from holdfast.runs.records import Summary
from holdfast.runs.results import Result, pack_results

from .tiny import load_result, made, tiny_run


def record(number, *, clients=(1, 2), shares=(0.5, 0.25), attackers=(), dropped=(), aggregated=True):
    drops = [{"client": 9, "reason": reason} for reason in dropped]
    seen = {
        "clients": list(clients),
        "trimmed_share": shares and list(shares),
        "dropped": drops,
        "kept_fraction": 0.5,
        "aggregated": aggregated,
    }
    numbers = {"round": number, "accuracy": number / 10, "attack_success": None, "seconds": 0.123456}
    attacks = {"n_attackers": len(attackers), "attackers": list(attackers)}
    return {**numbers, **attacks, "clients": [*clients, *(9 for _ in dropped)], "diagnostics": seen}


def test_a_summary_has_a_number_per_round_and_what_became_of_every_client():
    records = [
        record(1, attackers=[2], dropped=["NaN"]),
        record(2, clients=(2, 3), shares=(0.75, 0.0), attackers=[2]),
        record(3, clients=(1, 4), shares=None, attackers=[4], dropped=["NaN", "another shape"]),
    ]
    found = Summary.of(records)
    assert found.rounds["accuracy"] == [0.1, 0.2, 0.3]
    assert found.rounds["attack_success"] == [None, None, None]
    assert found.rounds["n_attackers"] == [1, 1, 1]
    assert found.rounds["n_dropped"] == [1, 0, 2]
    assert found.rounds["seconds"] == [0.123456] * 3
    assert found.n_drawn == {"1": 2, "2": 2, "3": 1, "4": 1, "9": 3}
    assert found.trimmed_share == {"1": 0.5, "2": 0.5, "3": 0.0}
    assert found.malicious == [2, 4]
    assert found.dropped == {"NaN": 2, "another shape": 1}


def test_a_summary_knows_the_rounds_that_aggregated_nothing_but_for_hearings_and_rewinds():
    said = {"hearing": False, "rewound": False, "clients": {}}
    hearing = record(3, aggregated=False) | {"verdicts": said | {"hearing": True}}
    rewind = record(4, aggregated=False) | {"verdicts": said | {"rewound": True}}
    lost = record(5, aggregated=False) | {"verdicts": said}
    assert Summary.of([record(1), record(2, aggregated=False), hearing, rewind, lost]).lost == [2, 5]
    assert Summary.of([record(1)]).lost is None


def test_a_result_knows_its_last_and_mean_numbers():
    result = Result(tiny_run().description, records=tuple(record(number) for number in (1, 2)))
    assert (result.n_done, result.last("accuracy"), result.mean("accuracy")) == (2, 0.2, pytest.approx(0.15))
    assert (result.last("attack_success"), result.mean("attack_success")) == (None, None)
    assert Result(tiny_run().description).last("accuracy") is None


def test_a_result_says_in_one_line_what_made_it(tmp_path):
    result = made(tiny_run("invariant", seed=3), tmp_path)
    assert "aggregate=invariant(tau=0.6, alpha=0.25, strict=False)" in result.described
    assert "seed: 3" in result.described
    assert "\n" not in result.described


def test_a_change_raises_the_epoch_of_what_it_touches_alone(monkeypatch):
    median, mean = tiny_run("median").description, tiny_run().description
    before = code_epoch(median), code_epoch(mean)
    monkeypatch.setattr("holdfast.runs.epochs.CHANGES", (*CHANGES, (r"median\(", "why")))
    assert (code_epoch(median), code_epoch(mean)) == (len(CHANGES) + 1, before[1])


def test_what_only_some_runs_measure_is_stored_of_those_and_reads_as_none_of_others(tmp_path):
    usual, minor = tiny_run(), tiny_run().replace(minority=reordered)
    for run in (usual, minor):
        loose = made(run, tmp_path)
        assert all(("minority_accuracy" in record) == (run is minor) for record in loose.records)
        pack_results(tmp_path)
        packed = load_result(run, tmp_path)
        assert ("minority_accuracy" in packed.summary.rounds) == (run is minor)
        assert packed.series("minority_accuracy") == loose.series("minority_accuracy")
        assert len(packed.series("minority_accuracy")) == 3
        assert (packed.last("minority_accuracy") is None) == (run is usual)
    with pytest.raises(KeyError):
        packed.series("minority_acuracy")


def test_a_damaged_optional_column_is_found(tmp_path):
    run = tiny_run().replace(minority=reordered)
    made(run, tmp_path)
    pack_results(tmp_path)
    (path,) = tmp_path.glob("*.jsonl")
    entry = json.loads(path.read_text())
    entry["summary"]["rounds"]["minority_accuracy"].pop()
    path.write_text(json.dumps(entry, separators=(",", ":")))
    with pytest.raises(DataError, match=r"it has \[2, 3\]"):
        load_result(run, tmp_path)
