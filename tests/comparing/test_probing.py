"""Every rule on the same round, as one object: from names and from values, printed, drawn, stored."""

import json
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="torch is not installed (pip install '.[sim]')")

from holdfast import Aggregate, InputError, aggregators, median
from holdfast.comparing.probing import probe, start_of
from holdfast.lab.choices import Numbers
from holdfast.lab.scenario import Defence
from holdfast.paper.studies.starts import AfterRounds, WarmStart
from holdfast.paper.studies.store import list_studies, pack_studies, studies_folder

from ..runs.tiny import LITTLE_DATA

OWN = Path(__file__).parent.parent.parent / "examples" / "own_task.py"
SMALL = {
    "settings": LITTLE_DATA,
    "numbers": Numbers(n_clients=12, n_per_round=10),
}


def probed(out, defences=("fedavg", "median", "invariant"), attack="edge-case", **more):
    return probe("phishing", attack, defences, out=out, **SMALL | more)


def mine(updates, *, factor=2.0):
    """Return a multiple of the mean."""
    return Aggregate(factor * np.asarray(updates).mean(axis=0))


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    return probed(tmp_path_factory.mktemp("probe"), draws=2, after=0)


def test_the_rules_are_numbered_and_those_with_the_smallest_dose_come_first(found):
    assert len(found.records) == 6
    assert [(one["defence"], one["draw"]) for one in found.records][:3] == [
        ("fedavg", 1),
        ("fedavg", 2),
        ("median", 1),
    ]
    plain = found.records[0]
    assert plain["leak"] == pytest.approx(found.share, rel=0.02)
    assert plain["dose"] == pytest.approx(plain["leak"], rel=0.1)  # as of any plain averaging
    doses = [one["dose"]["mean"] for one in found.standings]
    assert doses == sorted(doses)
    one = next(one for one in found.standings if one["defence"] == "fedavg")
    assert one["leak"]["low"] <= one["leak"]["mean"] <= one["leak"]["high"]
    assert one["leak"]["mean"] == pytest.approx(np.mean([record["leak"] for record in found.records[:2]]))


def test_it_is_a_table_a_page_of_a_notebook_and_a_data_frame(found):
    pandas = pytest.importorskip("pandas")
    table = found.table()
    assert table == repr(found)
    assert table.startswith("phishing, attack edge-case: one round from a fresh network, seed 0\n")
    assert all(
        name in " ".join(table.split()) for name in ("fedavg", "median", "invariant", "dose", "2 draws")
    )
    assert f"{found.standings[0]['leak']['mean']:.3f}" in table
    assert found._repr_html_().count("<tr>") == 4
    assert found.to_markdown().splitlines()[0].startswith("| defence | leak | gain | dose |")
    frame = found.to_pandas()
    assert isinstance(frame, pandas.DataFrame)
    assert frame["leak"].tolist() == [record["leak"] for record in found.records]


def test_without_pandas_the_data_frame_says_what_to_install(found, monkeypatch):
    monkeypatch.setattr("holdfast.comparing.frames.find_spec", lambda name: None)
    with pytest.raises(InputError, match="pandas is not installed: pip install"):
        found.to_pandas()


def test_the_figure_has_every_rule(found):
    pytest.importorskip("matplotlib")
    shown = " ".join(text.get_text() for axes in found.figure().axes for text in axes.texts)
    assert all(name in shown for name in ("fedavg", "median", "invariant"))


def test_rules_are_names_values_and_functions_of_ones_own(tmp_path):
    found = probed(tmp_path, {"ours": median, "half": Defence("x", mine), "name": "trimmed-mean"})
    assert [one["defence"] for one in found.records] == ["ours", "half", "name"]
    assert found.records[1]["rule"].startswith("mine(factor=2.0)#")
    assert probed(tmp_path, [mine]).records[0]["gain"] == found.records[1]["gain"]


def test_by_default_all_rules_are_probed_and_run(tmp_path):
    # bulyan is defined for n >= 4f + 1 clients
    found = probed(tmp_path, None, numbers=Numbers(n_clients=12, n_per_round=10, n_malicious=2))
    assert [one["defence"] for one in found.records] == aggregators.__all__
    assert not any(one["reason"] for one in found.records)


def test_the_rules_of_a_file_are_among_all_rules(tmp_path):
    found = probe(str(OWN), after=0, out=tmp_path)
    assert [one["defence"] for one in found.records] == ["middle", *aggregators.__all__]
    assert found.records[0]["leak"] is not None


def test_a_probe_is_stored_packed_and_read(tmp_path, monkeypatch):
    first = probed(tmp_path)
    assert len(pack_studies(studies_folder(tmp_path))) == 1
    (entry,), unusable = list_studies(studies_folder(tmp_path))
    assert not unusable
    assert entry["description"]["study"].startswith("rules_on_a_round(rules=(fedavg(), median(), invariant(")
    json.dumps(entry)
    monkeypatch.setattr("holdfast.lab.simulation.round.Round.sent", None)
    assert probed(tmp_path).records == first.records


def test_a_rule_that_cannot_run_comes_last_with_its_reason(tmp_path):
    found = probed(tmp_path, {"none": aggregators.krum(n_malicious=9), "median": median})
    assert [one["defence"] for one in found.standings] == ["median", "none"]
    assert "none could not run: krum needs" in " ".join(found.table().split())
    assert found.records[0]["leak"] is None


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"defences": ["factions+median"]}, "watches over the clients, which takes many rounds"),
        ({"defences": ["flip"]}, "flip changes how clients train"),
        ({"defences": ["csft+median"]}, r"csft\+median changes .* what the server trains after them"),
        ({"attack": "none"}, "name one, such as edge-case"),
        ({"after": 2, "warm": 1}, "a probe starts from one model: take only one of after, warm"),
        ({"defences": "median"}, r"defences must be a list, .* write \['median'\]"),
        ({"defences": []}, "name at least one defence"),
        ({"attack": 3}, "attack must be a name"),
        ({"draws": 0}, "draws must be a whole number of at least 1"),
    ],
)
def test_what_cannot_be_probed_is_refused_before_anything_is_trained(tmp_path, wrong, message, monkeypatch):
    monkeypatch.setattr("holdfast.lab.simulation.round.Round.sent", None)
    with pytest.raises(InputError, match=message):
        probed(tmp_path, **wrong)
    assert not list(tmp_path.iterdir())


def test_a_probe_starts_fresh_and_at_the_scale_of_the_paper_warm_unless_it_is_told_where(tmp_path):
    assert probed(tmp_path, [median]).start == AfterRounds(0)
    assert start_of(scale="paper") == WarmStart(2)
    assert start_of(scale="paper", after=0) == AfterRounds(0)
    assert start_of(warm=0.5) == WarmStart(0.5)
