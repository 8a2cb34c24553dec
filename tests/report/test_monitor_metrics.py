"""The numbers for Prometheus, read by its own parser; the dashboard and the alarms know no others."""

import importlib.util
import json
import re
from pathlib import Path

import pytest

from holdfast.ledger import ClientEntry, RoundEntry, open_ledger
from holdfast.watching import Verdict, Verdicts

from .conftest import HOSTILE
from .ledgers import Federation
from .monitors import asked, serving

parser = pytest.importorskip(
    "prometheus_client.parser", reason="prometheus-client is not installed (monitor extra)"
)
EXAMPLES = Path(__file__).parents[2] / "examples" / "monitor"


def scraped(path, **headers):
    """Return all samples by name, each as a dictionary of labels to value."""
    with serving(path) as server:
        status, told, body = asked(server.url, "/metrics", **headers)
    assert status == 200
    assert told["Content-Type"].startswith("text/plain; version=")
    found = {}
    for family in parser.text_string_to_metric_families(body.decode()):
        assert family.documentation
        for sample in family.samples:
            found.setdefault(sample.name, {})[tuple(sorted(sample.labels.items()))] = sample.value
    return found


def alone(samples, name):
    return samples[f"holdfast_{name}"][()]


@pytest.fixture
def path(tmp_path):
    federation = Federation(tmp_path / "federation.db")
    federation.round(6)
    federation.round(1, broken=["ann", "bob"])
    return federation.path


def test_the_numbers_are_those_of_the_ledger(path):
    samples = scraped(path)
    with open_ledger(path, read_only=True) as ledger:
        overview = ledger.overview()
    by_standing = {dict(labels)["standing"]: value for labels, value in samples["holdfast_clients"].items()}
    others = dict.fromkeys(("too early to tell", "suspected", "counts as one", "not watched"), 0)
    assert by_standing == {"clear": 7, "expelled": overview["n_expelled"], **others}
    assert alone(samples, "round") == alone(samples, "rounds_total") == 7
    assert alone(samples, "rewinds_total") == 1
    assert alone(samples, "clients_asked") == 10
    assert alone(samples, "clients_used") == 5
    assert alone(samples, "clients_broken") == 2
    assert alone(samples, "clients_kept_out") == 3
    assert alone(samples, "accuracy") == pytest.approx(1 - 0.5**7)
    assert alone(samples, "last_round_timestamp_seconds") == overview["last"]["at"]
    accused = {
        dict(labels)["client"]: value for labels, value in samples["holdfast_accused_since_round"].items()
    }
    assert accused == {"eve": 5, "mallory": 5, "trudy": 5}


def test_a_ban_is_counted(path):
    with open_ledger(path) as ledger:
        ledger.decide("ban", "gus")
    assert alone(scraped(path), "clients_banned") == 1


def test_before_the_first_round_there_are_zeros_and_no_error(tmp_path):
    samples = scraped(tmp_path / "absent.db")
    assert alone(samples, "rounds_total") == 0
    assert "holdfast_accuracy" not in samples


def test_hostile_ids_are_labels_and_nothing_else(tmp_path):
    path = tmp_path / "federation.db"
    hostile = [HOSTILE, 'a"} 1\nholdfast_round 99', "a\\", "ü\u202e", "x" * 200 + "a", "x" * 200 + "b"]
    said = Verdicts(1, tuple(Verdict(client, "expelled", heard=3, since=1, faction=1) for client in hostile))
    with open_ledger(path) as ledger:
        ledger.write(RoundEntry(round=1, rule='median"} 1', verdicts=said))
    samples = scraped(path)
    assert alone(samples, "round") == 1
    assert len(samples["holdfast_accused_since_round"]) == len(hostile)


def test_of_very_many_accused_the_first_are_named(tmp_path):
    path = tmp_path / "federation.db"
    said = Verdicts(1, tuple(Verdict(number, "expelled", heard=3, since=1) for number in range(300)))
    with open_ledger(path) as ledger:
        ledger.write(RoundEntry(round=1, rule="median()", verdicts=said, clients=(ClientEntry(client=1),)))
    samples = scraped(path)
    assert len(samples["holdfast_accused_since_round"]) == 100
    assert samples["holdfast_clients"][(("standing", "expelled"),)] == 300


def test_without_the_package_it_is_said_what_to_install(path, monkeypatch):
    find = importlib.util.find_spec
    monkeypatch.setattr(
        "holdfast.report.installed.find_spec",
        lambda name: None if name == "prometheus_client" else find(name),
    )
    with serving(path) as server:
        status, _, body = asked(server.url, "/metrics")
        assert status == 501
        assert b"pip install '.[monitor]'" in body
        assert asked(server.url)[0] == 200


def names_in(text):
    return set(re.findall(r"holdfast_[a-z_]+", text))


@pytest.mark.parametrize("name", ["grafana.json", "alerts.yml"])
def test_dashboard_and_alarms_ask_only_for_numbers_that_there_are(path, name):
    text = (EXAMPLES / name).read_text()
    with open_ledger(path) as ledger:
        ledger.measure(7, attack_success=0.0)
        last = ledger.rounds()[-1]
        assert last["kept_fraction"] is None  # this rule has no mask; its number is known all the same
    assert names_in(text) - {"holdfast_kept_fraction"} <= set(scraped(path))


def test_the_page_on_monitoring_explains_every_number_and_no_other(tmp_path):
    path = tmp_path / "federation.db"
    facts = {
        "kept_fraction": 0.4,
        "tolerates": 1,
        "seconds": 2.0,
        "accuracy": 0.9,
        "attack_success": 0.1,
        "loss": 1.0,
    }
    with open_ledger(path) as ledger:
        said = Verdicts(1, (Verdict("eve", "expelled", heard=3, since=1, faction=1),))
        ledger.write(
            RoundEntry(round=1, rule="median()", verdicts=said, clients=(ClientEntry(client="eve"),), **facts)
        )
    page = (EXAMPLES.parents[1] / "docs" / "monitor.md").read_text()
    assert names_in(page) == set(scraped(path))


def test_the_dashboard_can_be_imported_anywhere():
    dashboard = json.loads((EXAMPLES / "grafana.json").read_text())
    assert dashboard["id"] is None
    assert [one["pluginId"] for one in dashboard["__inputs"]] == ["prometheus"]
    for panel in dashboard["panels"]:
        assert panel["title"]
        assert panel["datasource"]["uid"] == "${DS_PROMETHEUS}"
    places = [(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in dashboard["panels"]]
    assert len(places) == len(set(places))


def test_the_alarms_and_the_scrape_configuration_are_yaml():
    yaml = pytest.importorskip("yaml")
    rules = yaml.safe_load((EXAMPLES / "alerts.yml").read_text())["groups"][0]["rules"]
    assert all(rule["expr"] and rule["annotations"]["summary"] for rule in rules)
    jobs = yaml.safe_load((EXAMPLES / "prometheus.yml").read_text())["scrape_configs"]
    assert jobs[0]["static_configs"][0]["targets"] == ["127.0.0.1:7333"]
