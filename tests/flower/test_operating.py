"""A training with a ledger: what is written of it, what operators decide while it runs, and how it ends."""

import logging
import os
import shlex
import stat
import threading
import time
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from flwr.app import MetricRecord
from flwr.serverapp.strategy import FedAvg, Result, Strategy

from holdfast import factions, fedavg, invariant
from holdfast._support.locks import lock_of
from holdfast.errors import InputError
from holdfast.flower import Code, Robust
from holdfast.ledger import Ledger, Policy, model_hash, open_ledger, verify
from holdfast.ledger.checkpoints import kept_checkpoints, rewind
from holdfast.watching import ClientMemory, Verdict, Verdicts, Watched, watch

from .nodes import NODES, Federation, arrays_in, content, crashing, honest, model, one_round, record, trained
from .test_watch import ATTACKERS, federation, reply, start
from .test_watch import NODES as WATCHED

WATCH = factions(sample=400, hearing=0)
ASK = {"on_verdict": "ask", "timeout": 0.01, "otherwise": "expel"}


@pytest.fixture
def path(tmp_path):
    return tmp_path / "federation.db"


def train(strategy, n_rounds, *, grid=None, base=None, **options):
    return strategy.start(
        grid or Federation(), record(model() if base is None else base), num_rounds=n_rounds, **options
    )


def watched(n_rounds, *, grid=None, **options):
    strategy = Robust(fedavg, seed=5, fraction_evaluate=0.0, **{"watch": WATCH, **options})
    return strategy, train(strategy, n_rounds, grid=grid or federation(), base=start())


def banning(path, node, in_round):
    """Return what a node does, and what an operator does as soon as it is asked in this round."""

    def behave(message):
        if message.content["config"]["server-round"] == in_round:
            with open_ledger(path) as ledger:
                ledger.decide("ban", node, why="leaks")
        return honest(message)

    return behave


def test_every_round_is_in_the_ledger_with_its_nodes_and_models(path):
    result = train(
        Robust(invariant, ledger=path),
        3,
        grid=Federation({12: crashing}),
        evaluate_fn=lambda number, arrays: MetricRecord({"accuracy": number / 4, "f1": 0.5}),
    )
    with open_ledger(path, read_only=True) as ledger:
        rounds, node, dropped = ledger.rounds(), ledger.client(11), ledger.client(12)
        facts = ledger.overview()["federation"]
    assert [(one["round"], one["n_asked"], one["n_used"], one["n_dropped"]) for one in rounds] == [
        (number, 5, 4, 1) for number in (1, 2, 3)
    ]
    assert [one["accuracy"] for one in rounds] == [0.25, 0.5, 0.75]
    assert rounds[0]["metrics"]["train_loss"] == 0.5
    assert rounds[0]["model_before"] == model_hash(model())
    assert [one["model_after"] for one in rounds[:2]] == [one["model_before"] for one in rounds[1:]]
    assert rounds[2]["model_after"] == model_hash(arrays_in(result.arrays))
    assert node["examples"] == 10
    assert all(node[name] is not None for name in ("norm", "cosine", "trimmed", "opposed"))
    assert (dropped["n_dropped"], dropped["code"]) == (3, Code.ERROR)
    assert "out of cheese" in dropped["reason"]
    assert (facts["source"], facts["n_rounds"], facts["rule"]) == ("flower", 3, str(invariant))
    assert verify(path).holds


def test_nodes_that_send_the_same_are_named_in_the_first_round(path, caplog):
    copied = {node: lambda m: honest_as(m, 11) for node in (13, 15)}
    strategy = Robust(invariant, ledger=path)
    result = train(strategy, 1, grid=Federation({**copied, 14: idle}))
    assert strategy.diagnostics.identical == ((11, 13, 15),)
    assert strategy.diagnostics.unchanged == (14,)
    assert result.train_metrics_clientapp[1]["holdfast-nodes"] == [*NODES]  # nobody loses its say
    assert result.train_metrics_clientapp[1]["holdfast-identical"] == 3
    assert "clients 11, 13 and 15 sent the same model" in caplog.text
    assert "client 14 sent the global model unchanged" in caplog.text
    with open_ledger(path, read_only=True) as ledger:
        found = {one["id"]: one["duplicate_of"] for one in ledger.clients()}
        remarks = {one["id"]: one["remarks"] for one in ledger.clients()}
    assert found == {11: None, 12: None, 13: 11, 14: None, 15: 11}
    assert remarks[11] == ["sent the same as client 13"]
    assert remarks[14] == ["sent the global model unchanged"]


def idle(message):
    """Reply with the model that came."""
    if message.metadata.message_type == "evaluate":
        return honest(message)
    return content(arrays_in(message.content["arrays"]))


def test_a_node_that_an_operator_bans_within_the_round_is_still_named_as_a_copy(path):
    plot = 0.3 * np.random.default_rng(7).normal(size=(20, 30))

    def copied(message):
        base = arrays_in(message.content["arrays"])
        return content({**base, "w": (base["w"] + 0.1 + plot).astype(np.float32)})

    nodes = {node: copied if node in ATTACKERS else partial(reply, plot=0.0) for node in WATCHED}
    strategy, named = Robust(fedavg, watch=WATCH, seed=5, ledger=path, policy=ASK, fraction_evaluate=0.0), []
    keep = strategy.keep
    strategy.keep = lambda number, arrays: (
        named.append((strategy.diagnostics.identical, {*strategy.desk.banned})),
        keep(number, arrays),
    )
    train(strategy, 4, grid=Federation(nodes, nodes=WATCHED), base=start())
    (first,) = [number for number, (_, banned) in enumerate(named) if banned][:1]
    assert named[first] == (((*ATTACKERS,),), {*ATTACKERS})
    assert named[first + 1][0] == ()  # nobody asks them any more


def honest_as(message, node):
    if message.metadata.message_type == "evaluate":
        return honest(message)
    return content(trained(node, arrays_in(message.content["arrays"])))


def test_a_ban_takes_effect_at_once_and_the_node_is_not_asked_again(path):
    grid = Federation({13: banning(path, 13, in_round=2)})
    result = train(Robust(invariant, ledger=path, min_train_nodes=4, min_available_nodes=4), 4, grid=grid)
    asked = [
        message.metadata.dst_node_id for message in grid.sent if "train" in message.metadata.message_type
    ]
    assert [asked.count(node) for node in NODES] == [4, 4, 2, 4, 4]
    second, third = (result.train_metrics_clientapp[number] for number in (2, 3))
    assert (second["holdfast-dropped-nodes"], second["holdfast-dropped-codes"]) == ([13], [Code.BANNED])
    assert third["holdfast-nodes"] == [11, 12, 14, 15]
    with open_ledger(path, read_only=True) as ledger:
        node = ledger.client(13)
    assert [(one["round"], one["used"]) for one in node["entries"]] == [(1, True), (2, False)]
    assert node["reason"] == "banned by the operator: leaks"


def test_a_strategy_that_waits_for_all_nodes_does_not_wait_for_banned_ones(path):
    grid = Federation()
    result = train(Robust(invariant, exclude=[12], min_available_nodes=5, min_train_nodes=5), 2, grid=grid)
    assert result.train_metrics_clientapp[2]["holdfast-nodes"] == [11, 13, 14, 15]
    assert 12 not in [message.metadata.dst_node_id for message in grid.sent]


def test_a_pardoned_node_keeps_its_say_and_is_still_told_of(path):
    with open_ledger(path) as ledger:
        ledger.decide("pardon", ATTACKERS[0])
    _, result = watched(6, ledger=path)
    last = result.train_metrics_clientapp[6]
    assert ATTACKERS[0] in last["holdfast-nodes"]
    assert last["holdfast-expelled-nodes"] == [*ATTACKERS[1:]]
    assert last["holdfast-suspected-nodes"] == [ATTACKERS[0]]


def test_whoever_wants_to_know_is_called_once_per_verdict_and_may_fail(caplog):
    told = []

    def tell(verdict, number):
        told.append((verdict.client, verdict.standing))
        raise RuntimeError("the pager is broken")

    _, result = watched(6, on_verdict=tell)
    assert {client for client, standing in told if standing == "expelled"} == {*ATTACKERS}
    assert len([one for one in told if one[1] == "expelled"]) == len(ATTACKERS)
    assert "the pager is broken" in caplog.text
    assert 6 in result.train_metrics_clientapp


def test_a_policy_of_reporting_changes_no_bit_of_the_model():
    _, alone = watched(6, watch=None)
    strategy, reported = watched(6, policy={"on_verdict": "report"})
    assert strategy.verdicts.named == tuple(ATTACKERS)
    assert model_hash(arrays_in(alone.arrays)) == model_hash(arrays_in(reported.arrays))


@pytest.mark.parametrize(("mode", "under"), [("wary", "wary"), ("expel", "expel"), ("report", "expel")])
def test_a_policy_of_expelling_makes_no_watch_less_strict(mode, under):
    strategy = Robust(fedavg, watch=factions(mode=mode), policy={"on_verdict": "expel"})
    assert dict(strategy.watch.settings)["mode"] == under


def test_a_policy_of_stopping_ends_the_training_with_the_model_from_before(path, caplog):
    _, result = watched(20, ledger=path, policy={"on_verdict": "stop"})
    last = max(result.train_metrics_clientapp)
    assert 3 <= last < 10
    assert result.train_metrics_clientapp[last]["holdfast-aggregated"] == 0
    with open_ledger(path, read_only=True) as ledger:
        rounds, found = ledger.rounds(), ledger.overview()
    assert len(rounds) == last
    assert rounds[-1]["model_after"] == rounds[-1]["model_before"] == model_hash(arrays_in(result.arrays))
    assert found["banner"] == "stopped"
    assert f"node {ATTACKERS[0]}" in found["federation"]["stopped"]
    assert "the training stops" in caplog.text


def test_a_training_that_stops_claims_no_rewind_and_keeps_its_start_for_one(path):
    strategy, result = watched(20, ledger=path, policy={"on_verdict": "stop"})
    last = max(result.train_metrics_clientapp)
    assert result.train_metrics_clientapp[last]["holdfast-expelled-nodes"] == [*ATTACKERS]
    assert result.train_metrics_clientapp[last]["holdfast-rewound"] == 0
    with open_ledger(path, read_only=True) as ledger:
        assert not any(one["rewound"] for one in ledger.rounds())
    memory = strategy._state
    assert (memory.watch.n_rewinds, memory.watch.n_applied) == (0, last - 1)
    assert memory.start["params"].tobytes() == start()["w"].tobytes()


def test_a_held_round_goes_on_once_the_operator_has_decided(path):
    def operator():
        with open_ledger(path) as ledger:
            while not (waiting := [one for one in ledger.requests() if one["answered"] is None]):
                time.sleep(0.05)
            assert ledger.overview()["banner"] == "held"
            for one in waiting:
                action = "pardon" if one["client"] == ATTACKERS[-1] else "ban"
                ledger.decide(action, one["client"], by="ann")

    thread = threading.Thread(target=operator)
    with open_ledger(path):
        thread.start()
    _, result = watched(7, ledger=path, policy=Policy(on_verdict="ask", timeout=60))
    thread.join()
    with open_ledger(path, read_only=True) as ledger:
        requests, rounds = ledger.requests(), ledger.rounds()
        held = requests[0]["round"]
        assert {one["client"]: one["answered"] for one in requests} == {
            **dict.fromkeys(ATTACKERS[:-1], "ban"),
            ATTACKERS[-1]: "pardon",
        }
        assert ledger.overview()["banner"] != "held"
    metrics = result.train_metrics_clientapp[held]
    assert metrics["holdfast-dropped-nodes"] == [*ATTACKERS[:-1]]
    assert rounds[held - 1]["n_used"] == len(WATCHED) - len(ATTACKERS) + 1
    assert result.train_metrics_clientapp[7]["holdfast-nodes"] == [*WATCHED[len(ATTACKERS) - 1 :]]


@pytest.mark.parametrize(("otherwise", "n_used"), [("expel", 25), ("keep", 30), ("stop", 0)])
def test_when_nobody_answers_the_policy_decides(path, otherwise, n_used, monkeypatch, caplog):
    policy = Policy(on_verdict="ask", timeout=0, otherwise=otherwise)
    monkeypatch.chdir(path.parent)
    watched(7, ledger=path.name, policy=policy)
    assert f"or the policy decides: {otherwise}. To ban: holdfast clients ban " in caplog.text
    assert f" --ledger {shlex.quote(str(path))}" in caplog.text  # from wherever the operator types it
    with open_ledger(path, read_only=True) as ledger:
        decided, last = ledger.decisions(), ledger.rounds()[-1]
    assert {one["by"] for one in decided} == (set() if otherwise == "stop" else {"policy"})
    assert last["n_used"] == n_used
    assert (last["round"] == 7) == (otherwise != "stop")
    with open_ledger(path, read_only=True) as ledger:
        found = ledger.overview()
    assert found["n_open_requests"] == 0
    assert (found["banner"] == "stopped") == (otherwise == "stop")


def test_a_training_that_stopped_without_an_answer_asks_again_when_it_is_resumed(path, tmp_path):
    options = {"ledger": path, "checkpoint": tmp_path / "training.npz", "resume": True}
    policy = Policy(on_verdict="ask", timeout=0, otherwise="stop")
    _, stopped = watched(9, **options, policy=policy)
    last = max(stopped.train_metrics_clientapp)
    strategy, again = watched(9, **options, policy=policy)
    assert strategy.desk.stopping is not None
    assert again.train_metrics_clientapp[last + 1]["holdfast-aggregated"] == 0
    with open_ledger(path) as ledger:
        for node in ATTACKERS:
            ledger.decide("ban", node)
    _, rest = watched(9, **options, policy=policy)
    assert rest.train_metrics_clientapp[9]["holdfast-nodes"] == [*WATCHED[len(ATTACKERS) :]]


@watch
def one_by_one(updates, *, clients, mode="report", state=None):
    """Names the first of three nodes that is there, in every round anew."""
    number = 1 if state is None else state.round + 1
    suspect = next((node for node in ATTACKERS[:3] if node in clients), None)
    told = [Verdict(suspect, "suspected", heard=number, since=number)] if suspect else []
    return Watched(replace(ClientMemory(), round=number), Verdicts(number, tuple(told)))


def test_who_stands_out_once_others_are_banned_is_asked_about_in_the_same_round(path):
    policy = Policy(on_verdict="ask", timeout=0, otherwise="expel")
    _, result = watched(1, ledger=path, watch=one_by_one, policy=policy)
    assert result.train_metrics_clientapp[1]["holdfast-nodes"] == [*WATCHED[3:]]
    with open_ledger(path, read_only=True) as ledger:
        assert [one["client"] for one in ledger.requests()] == [*ATTACKERS[:3]]


@pytest.mark.parametrize("failing", [("decide",), ("ask", "decide", "decided")])
def test_a_policy_expels_also_where_the_ledger_cannot_be_written(path, failing, monkeypatch, caplog):
    def full(self, *args, **kwargs):
        raise OSError(28, "No space left on device")

    for name in failing:
        monkeypatch.setattr(Ledger, name, full)
    policy = Policy(on_verdict="ask", timeout=0, otherwise="expel")
    strategy, result = watched(6, ledger=path, policy=policy)
    assert strategy.verdicts.named == tuple(ATTACKERS)
    assert result.train_metrics_clientapp[6]["holdfast-nodes"] == [*WATCHED[len(ATTACKERS) :]]
    assert "could not be written: [Errno 28]" in caplog.text


def test_where_flower_can_be_told_to_stop_it_is(monkeypatch):
    """Flower 1.43 asks should_stop(server_round, result) after each round."""
    older = Strategy.start

    def newer(self, grid, initial_arrays, num_rounds, timeout, should_stop=None, **options):
        result, arrays = Result(), initial_arrays
        for number in range(1, num_rounds + 1):
            once = older(_Shifted(self, number), grid, arrays, 1, timeout, **options)
            arrays = result.arrays = once.arrays
            result.train_metrics_clientapp |= {number: once.train_metrics_clientapp[1]}
            if should_stop(number, result):
                break
        return result

    monkeypatch.setattr(Strategy, "start", newer)
    _, result = watched(20, policy={"on_verdict": "stop"})
    assert 3 <= max(result.train_metrics_clientapp) < 10
    seen = []

    def should_stop(number, result):
        seen.append(number)
        return number == 2

    result = train(Robust(invariant), 9, should_stop=should_stop)
    assert seen == [1, 2] == [*result.train_metrics_clientapp]


class _Shifted:
    """A strategy whose first round has another number."""

    def __init__(self, strategy, number):
        self._strategy, self._number = strategy, number

    def __getattr__(self, name):
        found = getattr(self._strategy, name)
        if name.startswith(("configure", "aggregate")):
            return lambda _, *args: found(self._number, *args)
        return found


def test_an_older_flower_says_that_it_cannot_be_told_to_stop():
    with pytest.raises(InputError, match=r"needs Flower 1\.43"):
        train(Robust(invariant), 2, should_stop=lambda number, result: True)


def test_a_training_resumes_with_its_ledger_and_nothing_is_lost(path, tmp_path):
    options = {"ledger": path, "checkpoint": tmp_path / "training.npz", "resume": True}
    train(Robust(invariant, **options), 2)
    train(Robust(invariant, **options), 5)
    with open_ledger(path, read_only=True) as ledger:
        assert [one["round"] for one in ledger.rounds(undone=True)] == [1, 2, 3, 4, 5]
    assert verify(path).holds


def test_a_training_resumed_without_its_watch_says_who_has_a_say_again(path, tmp_path, caplog):
    options = {"ledger": path, "checkpoint": tmp_path / "training.npz", "resume": True}
    watched(5, **options)
    watched(6, **options)
    assert "have their say again" not in caplog.text
    watched(7, watch=None, **options)
    assert f"expelled {len(ATTACKERS)} nodes, and this training has none" in caplog.text


def test_a_round_that_was_written_before_a_kill_and_not_kept_is_made_again(path, tmp_path, monkeypatch):
    options = {"ledger": path, "checkpoint": tmp_path / "training.npz", "resume": True}
    strategy = Robust(invariant, **options)
    train(strategy, 2)

    def killed(number, arrays):
        raise KeyboardInterrupt

    strategy = Robust(invariant, **options)
    monkeypatch.setattr(strategy, "keep", killed)
    with pytest.raises(KeyboardInterrupt):
        train(strategy, 4)
    train(Robust(invariant, **options), 4)
    with open_ledger(path, read_only=True) as ledger:
        found = [(one["round"], one["undone"] is not None) for one in ledger.rounds(undone=True)]
        hashes = {one["model_after"] for one in ledger.rounds(undone=True) if one["round"] == 3}
    assert found == [(1, False), (2, False), (3, True), (3, False), (4, False)]
    assert len(hashes) == 1  # to the same bits
    assert verify(path).holds


@pytest.mark.parametrize("can_link", [True, False])
def test_only_their_owner_may_read_checkpoints_which_hold_what_the_watch_looks_at(
    can_link, path, tmp_path, monkeypatch
):
    def refused(*names):
        raise OSError("a file system without links")

    if not can_link:
        monkeypatch.setattr(os, "link", refused)
    checkpoint = tmp_path / "training.npz"
    train(Robust(invariant, ledger=path, checkpoint=checkpoint, keep_every=1), 2)
    files = [checkpoint, *kept_checkpoints(checkpoint).values()]
    assert len(files) == 3
    with open_ledger(path) as ledger:
        checkpoint.unlink()
        rewind(ledger, checkpoint, to=1)
    assert {stat.S_IMODE(file.stat().st_mode) for file in files} == {0o600}


def test_a_training_is_rewound_and_resumed_from_a_chosen_round(path, tmp_path):
    checkpoint = tmp_path / "training.npz"
    options = {"ledger": path, "checkpoint": checkpoint, "resume": True, "keep_every": 2, "most_kept": 3}
    first = train(Robust(invariant, **options), 9)
    assert [*kept_checkpoints(checkpoint)] == [4, 6, 8]
    with open_ledger(path) as ledger:
        with pytest.raises(InputError, match=r"no checkpoint of round 5.*those of: 4, 6, 8"):
            rewind(ledger, checkpoint, to=5)
        assert rewind(ledger, checkpoint, to=6) == [7, 8, 9]
        assert ledger.rounds()[-1]["round"] == 6
        with pytest.raises(InputError, match=r"round 8 of .* is undone \(rewound.*\.round-8\.npz"):
            rewind(ledger, checkpoint, to=8)
    grid = Federation()
    again = train(Robust(invariant, **options), 9, grid=grid)
    assert len(grid.sent) == 3 * 2 * len(NODES)
    assert model_hash(arrays_in(again.arrays)) == model_hash(arrays_in(first.arrays))
    with open_ledger(path, read_only=True) as ledger:
        assert [one["round"] for one in ledger.rounds()] == [*range(1, 10)]
        assert len(ledger.rounds(undone=True)) == 12
    assert verify(path).holds


def test_checkpoints_of_undone_rounds_do_not_crowd_out_those_of_the_training_that_goes_on(path, tmp_path):
    checkpoint = tmp_path / "training.npz"
    options = {"ledger": path, "checkpoint": checkpoint, "resume": True, "most_kept": 2}
    train(Robust(invariant, **options, keep_every=2), 8)
    with open_ledger(path) as ledger:
        rewind(ledger, checkpoint, to=6)
    train(Robust(invariant, **options, keep_every=2), 9)
    with open_ledger(path) as ledger:
        rewind(ledger, checkpoint, to=6)
        assert [*kept_checkpoints(checkpoint)] == [6, 8, 9]
        train(Robust(invariant, **options, keep_every=1), 7)
        assert [*kept_checkpoints(checkpoint)] == [6, 7, 8, 9]
        assert rewind(ledger, checkpoint, to=6) == [7]
    assert not [*tmp_path.glob("*.partial")]


def test_nobody_rewinds_or_trains_while_a_training_runs(path, tmp_path):
    checkpoint = tmp_path / "training.npz"

    def meddle(message):
        assert lock_of(path).exists()
        with open_ledger(path) as ledger, pytest.raises(InputError, match="a training writes"):
            rewind(ledger, checkpoint, to=1)
        with pytest.raises(InputError, match="another training writes"):
            train(Robust(invariant, ledger=path), 1)
        return honest(message)

    train(
        Robust(invariant, ledger=path, checkpoint=checkpoint, keep_every=1), 2, grid=Federation({11: meddle})
    )
    assert not lock_of(path).exists()


def test_a_training_that_starts_anew_leaves_the_earlier_one_in_the_ledger(path, caplog):
    train(Robust(invariant, ledger=path), 3)
    train(Robust(invariant, ledger=path), 2)
    with open_ledger(path, read_only=True) as ledger:
        assert [one["round"] for one in ledger.rounds()] == [1, 2]
        assert len(ledger.rounds(undone=True)) == 5
    assert "marked as undone: 3 rounds after round 0" in caplog.text


def test_a_ledger_that_fails_costs_its_lines_and_never_the_training(path, caplog, monkeypatch):
    def full(self, *args, **kwargs):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(Ledger, "write", full)
    result = train(Robust(invariant, ledger=path), 2)
    assert result.train_metrics_clientapp[2]["holdfast-aggregated"] == 1
    assert "could not be written: [Errno 28] No space left on device" in caplog.text


def test_rounds_that_are_not_made_by_start_are_written_too(path):
    one_round(Robust(invariant, ledger=path))
    with open_ledger(path, read_only=True) as ledger:
        assert len(ledger.rounds()) == 1


def test_a_good_round_is_one_line_and_what_stands_out_is_a_warning(caplog):
    def boosted(message):
        sent = honest(message)
        base = arrays_in(message.content["arrays"])
        changed = {
            name: (values - base[name]) * 30 + base[name] if name.endswith("weight") else values
            for name, values in arrays_in(sent["arrays"]).items()
        }
        sent["arrays"] = record({name: values.astype(base[name].dtype) for name, values in changed.items()})
        return sent

    with caplog.at_level(logging.INFO):
        strategy = Robust(invariant(tau=0.2, alpha=0.2), fraction_evaluate=0.0)
        train(strategy, 3, grid=Federation({15: boosted}, nodes=range(11, 19)))
    lines = [one.getMessage() for one in caplog.records if one.getMessage().startswith("round ")]
    assert "round 1: 8 of 8 nodes used, kept 100 % of coordinates" in lines
    (told,) = [line for line in lines if line.startswith("round 3: node 15 sent an update of length")]
    assert told.endswith("3 rounds in a row")
    assert not any("node 12" in line for line in lines)


def test_a_round_that_can_never_be_aggregated_is_warned_of(caplog):
    train(Robust(invariant, fraction_train=0.4, min_replies=3), 1)
    assert "round 1 asks 2 nodes, and min_replies is 3: nothing can be aggregated" in caplog.text


def test_metrics_have_as_many_digits_as_are_worth_reading():
    metrics = one_round(Robust(invariant))[1]
    numbers = [value for key in ("norm", "cosine", "trimmed") for value in metrics[f"holdfast-{key}"]]
    assert all(number == float(f"{number:.4g}") for number in numbers)
    assert len(metrics["holdfast-norm"]) == 5


@pytest.mark.parametrize(
    ("settings", "told"),
    [
        ({"policy": {"on_verdict": "report"}}, "pass watch="),
        ({"policy": {"on_verdict": "ask"}, "watch": WATCH}, "needs ledger="),
        ({"policy": {"on_verdict": "hang"}, "watch": WATCH}, "one of report, ask, expel, stop"),
        ({"policy": {"timeout": "long"}, "watch": WATCH}, "timeout, in seconds"),
        ({"exclude": "12"}, "exclude must hold node ids"),
        ({"exclude": ["12"]}, "exclude must hold node ids"),
        ({"exclude": 2651}, r"exclude must hold node ids, whole numbers, such as \[2651\]; got 2651"),
        ({"on_verdict": "tell"}, "must be a function"),
        ({"keep_every": 5}, "needs checkpoint="),
        ({"inner": FedAvg(), "keep_every": -1}, "keep_every"),
    ],
)
def test_settings_that_make_no_sense_are_refused(settings, told):
    with pytest.raises(InputError, match=told):
        Robust(invariant, **settings)


def test_a_ledger_that_can_never_be_written_is_refused_before_any_node_trains(tmp_path):
    (tmp_path / "file").write_text("in the way")
    grid = Federation()
    with pytest.raises(InputError, match=r"ledger='.*federation.db' cannot be written: "):
        train(Robust(invariant, ledger=tmp_path / "file" / "federation.db"), 1, grid=grid)
    assert not grid.sent


def test_a_node_that_no_rule_measures_has_its_length_in_the_ledger(path):
    """In a hearing no rule runs; and of those expelled, none looks at the update."""
    watched(6, ledger=path, watch=factions(sample=400))
    with open_ledger(path, read_only=True) as ledger:
        rounds, expelled, clear = ledger.rounds(), ledger.client(ATTACKERS[0]), ledger.client(WATCHED[-1])
    assert rounds[0]["hearing"]
    assert not expelled["entries"][-1]["used"]
    assert all(one["norm"] > 0 for one in (*expelled["entries"], *clear["entries"]))
    in_hearing, measured = clear["entries"][0]["norm"], clear["entries"][-1]["norm"]
    assert in_hearing == pytest.approx(measured, rel=0.2)  # the same node, by us and by the rule
    assert clear["entries"][0]["cosine"] is None
