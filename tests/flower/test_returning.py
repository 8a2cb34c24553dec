"""A training that is resumed with nodes that come under other ids than before, as in every simulation."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

from holdfast import factions, fedavg, krum_trimmed_mean
from holdfast.cli.commands import app
from holdfast.flower import Robust
from holdfast.flower.returning import Returning
from holdfast.ledger import open_ledger, verify
from holdfast.report.monitor.source import LedgerSource

from .nodes import Federation, model, record
from .test_watch import ATTACKERS, NODES, reply, start

WARNING = "known from before: bans, pardons, expulsions and the watch's memory go by id"


def federation(first=NODES[0], *, plot):
    """Return thirty nodes numbered from the first on; the first five share a plot."""
    nodes = range(first, first + len(NODES))
    attackers = nodes[: len(ATTACKERS)]
    return Federation(
        {node: lambda m, node=node: reply(m, plot if node in attackers else 0.0) for node in nodes},
        nodes=nodes,
    )


@pytest.fixture
def training(tmp_path):
    """Return what trains up to a round, with nodes numbered from a first one on, and the ledger's path."""
    plot, path = 0.3 * np.random.default_rng(7).normal(size=(20, 30)), tmp_path / "federation.db"

    def train(n_rounds, first=NODES[0], *, ledger=path, **options):
        strategy = Robust(
            krum_trimmed_mean(n_malicious=5),
            watch=factions(sample=400),
            seed=5,
            ledger=ledger,
            checkpoint=tmp_path / "training.npz",
            resume=True,
            fraction_evaluate=0.0,
            **options,
        )
        return strategy, strategy.start(federation(first, plot=plot), record(start()), num_rounds=n_rounds)

    return train, path


def test_that_all_nodes_have_new_ids_is_told_once_in_log_ledger_and_monitor(training, caplog):
    train, path = training
    train(6)
    assert WARNING not in caplog.text
    train(9, first=501)
    assert caplog.text.count(f"none of the 30 nodes of this run is among the 30 {WARNING}") == 1
    with open_ledger(path, read_only=True) as ledger:
        found, clients = ledger.overview(), ledger.clients()
    assert (found["n_clients"], found["n_former"], found["n_expelled"]) == (30, 30, 5)
    assert {one["id"] for one in clients if one["former"]} == {*NODES}
    said = LedgerSource(path).document()["banner"]
    assert said["sentence"].startswith("5 of 30 nodes vote together against all others and are expelled")
    assert said["further"][0] == "They are 501, 502, 503, 504, 505."
    assert "30 nodes now, 30 known from before." in said["further"][-1]
    assert verify(path).holds


def test_the_round_in_which_all_nodes_are_new_names_the_reason(training, caplog):
    train, path = training
    train(4)
    caplog.clear()
    train(5, first=501)
    with open_ledger(path, read_only=True) as ledger:
        (why,) = ledger.rounds()[-1]["notes"]
    assert why.startswith("no usable update is left: the watch keeps out 25 (new: ")
    assert why.endswith("and 5 (expelled since round 5)")
    assert why in caplog.text


def test_the_log_counts_the_nodes_of_this_run(training, caplog):
    train, _ = training
    train(6)
    caplog.set_level("INFO")
    caplog.clear()
    train(9, first=501)
    assert any(
        one.startswith("round 9: 25 of 30 nodes used, 5 dropped, 5 expelled") for one in caplog.messages
    )


def test_nodes_that_return_under_their_ids_are_not_told_of(training, caplog):
    train, path = training
    train(4)
    train(6)
    train(8, first=NODES[10])  # ten are gone, ten are new
    assert WARNING not in caplog.text
    with open_ledger(path, read_only=True) as ledger:
        assert (ledger.overview()["n_clients"], ledger.overview()["n_former"]) == (40, 0)


def test_a_former_node_counts_again_once_it_takes_part(training, caplog):
    train, path = training
    train(3)
    train(4, first=501)
    train(5, first=NODES[0])  # the ids of the first run, which the checkpoint knows
    assert caplog.text.count(WARNING) == 1
    with open_ledger(path, read_only=True) as ledger:
        found, clients = ledger.overview(), ledger.clients()
    assert (found["n_clients"], found["n_former"]) == (60, 0)
    assert not any(one["former"] for one in clients)


def test_without_a_ledger_the_checkpoint_tells_who_is_known(training, caplog):
    train, _ = training
    train(3, ledger=None)
    train(4, first=501, ledger=None)
    assert WARNING in caplog.text


def test_a_ledger_alone_tells_who_is_known(tmp_path, caplog):
    path = tmp_path / "federation.db"
    with open_ledger(path) as ledger:
        ledger.decide("ban", 7)  # of whom nobody has heard: it may come yet
    for first in (11, 11, 21):
        assert WARNING not in caplog.text
        strategy = Robust(fedavg, ledger=path)
        strategy.start(Federation(nodes=range(first, first + 5)), record(model()), num_rounds=1)
    assert WARNING in caplog.text
    assert (
        "that connected at the start had a known id" in LedgerSource(path).document()["banner"]["further"][-1]
    )


def test_a_policy_does_not_ask_about_nodes_that_have_not_come_back(training, caplog):
    train, path = training
    policy = {"on_verdict": "ask", "timeout": 0.1, "otherwise": "keep"}
    train(5)
    train(8, first=501, policy=policy)
    with open_ledger(path, read_only=True) as ledger:
        asked = {one["client"] for one in ledger.requests()}
    assert asked == {501, 502, 503, 504, 505}


def test_the_commands_tell_former_clients_apart(training):
    train, path = training
    train(4)
    train(6, first=501)

    def run(*args):
        done = CliRunner().invoke(app, ["clients", *map(str, args), "--ledger", str(path)])
        assert done.exit_code == 0, done.output
        return done.output

    lines = run("list").splitlines()
    assert lines[0].startswith("6 rounds, 30 clients now, 30 known from before: ")
    order = [line.split()[0] for line in lines[2:62]]
    assert {*order[:30]} == {str(node) for node in range(501, 531)}
    assert "reaches nobody now" in run("ban", NODES[0])
    assert "a running training follows" in run("ban", 501)
    assert json.loads(run("show", NODES[0], "--json"))["former"] is True


@pytest.mark.parametrize(
    ("connected", "remembered", "is_told"),
    [
        (range(20), (), False),
        (range(20), range(100, 120), True),
        (range(20), range(11, 31), True),
        (range(20), range(10, 30), False),
        (range(1000), range(30), False),  # few took part so far
        (range(3), range(1000), False),  # few are connected yet
    ],
)
def test_new_ids_are_told_from_nodes_that_are_not_there(connected, remembered, is_told):
    assert Returning.of(connected, remembered=remembered).has_new_ids is is_told
