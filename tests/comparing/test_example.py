"""The example with its own data, attack and rule goes all the way from Python, too."""

import sys
from pathlib import Path

import pytest

from holdfast.comparing.single import write_run
from holdfast.lab import Defence, Numbers, Run, check, compare, probe, simulate
from holdfast.paper.stored import stored_document
from holdfast.runs.recording import run_and_record
from holdfast.runs.results import list_results
from holdfast.runs.tracking import track, tracker_named

EXAMPLES = Path(__file__).parents[2] / "examples"
pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not EXAMPLES.exists(), reason="no examples beside the tests"),
]


@pytest.fixture
def mine(monkeypatch):
    monkeypatch.syspath_prepend(EXAMPLES)
    import own_task

    yield own_task
    sys.modules.pop("own_task", None)


def test_run_tracker_compare_probe_check_and_report(mine, tmp_path):
    pytest.importorskip("tensorboard", reason="tensorboard is not installed")
    run = Run(mine.task, mine.attack, Defence("middle", mine.middle)).replace(n_rounds=2)
    records = [record for record, _ in simulate(run)]
    assert all(record.diagnostics.norms is not None for record in records)

    tracker = tracker_named(f"tensorboard:{tmp_path / 'logs'}")
    *_, result = track(run_and_record(run, tmp_path / "runs"), tracker)
    assert result.series("accuracy") == [record.accuracy for record in records]
    assert list((tmp_path / "logs").rglob("events.*"))
    write_run(run, tmp_path, tmp_path / "run.html", links={tracker.title: tracker.where})
    assert "middle" in (tmp_path / "run.html").read_text(encoding="utf-8")

    defences = {"plain": "fedavg", "middle": mine.middle}
    two = Numbers(n_rounds=2)
    found = compare(mine.task, mine.attack, defences, seeds=2, numbers=two, out=tmp_path, baseline="plain")
    middle = next(one for one in found.standings if one["defence"] == "middle")
    assert middle["accuracy"]["values"][0] == result.last("accuracy")  # the run of before
    assert "middle" in found.page(tmp_path / "mine.html").read_text(encoding="utf-8")

    probed = probe(mine.task, mine.attack, defences, out=tmp_path)
    plain, own = probed.standings if probed.standings[0]["defence"] == "plain" else probed.standings[::-1]
    assert plain["leak"]["mean"] == pytest.approx(0.2, abs=0.05)  # the attackers' share of the examples
    assert own["leak"]["mean"] < plain["leak"]["mean"]

    assert check(mine.middle, timed=False).passed

    stored = stored_document(list_results(tmp_path / "runs")[0])
    rows = {row for one in stored["experiments"] for row in one["rows"]}
    assert any("middle" in row for row in rows)
