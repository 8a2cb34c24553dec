"""The watch in Flower: hearing, verdicts and rewind as valid rounds, and a memory that outlives a stop."""

from functools import partial

import numpy as np
import pytest
from flwr.app import ConfigRecord
from flwr.serverapp.strategy import FedAdam, FedAvgM

from holdfast import factions, fedavg, median, sparsefed
from holdfast.errors import InputError
from holdfast.flower import Code, Robust

from .nodes import Federation, arrays_in, content, record

NODES, ATTACKERS = range(101, 131), range(101, 106)
WATCH = factions(sample=400)  # of 600 coordinates
AT_ONCE = factions(sample=400, hearing=0)


def start():
    rng = np.random.default_rng(0)
    return {
        "w": rng.normal(size=(20, 30)).astype(np.float32),
        "bn.running_mean": np.zeros(4, np.float32),
        "bn.num_batches_tracked": np.array(0, np.int64),
    }


def reply(message, plot):
    """Return what a node sends: all learn the same, each in a way of its own; attackers share a plot."""
    node, number = message.metadata.dst_node_id, message.content["config"]["server-round"]
    own, now = np.random.default_rng(node), np.random.default_rng([node, number])
    step = 0.1 + 0.1 * own.normal(size=(20, 30)) + 0.1 * now.normal(size=(20, 30)) + plot
    base = arrays_in(message.content["arrays"])
    return content(
        {
            "w": (base["w"] + step).astype(np.float32),
            "bn.running_mean": base["bn.running_mean"] + np.float32(1),
            "bn.num_batches_tracked": base["bn.num_batches_tracked"] + 1,
        }
    )


def federation(attackers=ATTACKERS):
    plot = 0.3 * np.random.default_rng(7).normal(size=(20, 30))
    return Federation(
        {n: lambda m, n=n: reply(m, plot if n in attackers else 0.0) for n in NODES}, nodes=NODES
    )


def run(strategy, n_rounds, attackers=ATTACKERS):
    """Train, and return the result and the model after each round."""
    seen = {}
    result = strategy.start(
        federation(attackers),
        record(start()),
        num_rounds=n_rounds,
        evaluate_fn=lambda number, arrays: seen.update({number: arrays_in(arrays)}),
    )
    return result.train_metrics_clientapp, seen


def robust(rule=fedavg, watch=WATCH, **options):
    sampling = {} if "inner" in options else {"fraction_evaluate": 0.0}
    return Robust(rule, watch=watch, seed=5, **options, **sampling)


def same(one, other):
    return all(one[name].tobytes() == other[name].tobytes() for name in one)


def test_nothing_is_applied_in_the_hearing_and_attackers_have_no_say_after_it(caplog):
    strategy = robust()
    metrics, seen = run(strategy, 6)
    hearing = [number for number, here in metrics.items() if here["holdfast-hearing"]]
    assert hearing == list(range(1, len(hearing) + 1)) != []
    for number in hearing:
        assert metrics[number]["holdfast-aggregated"] == metrics[number]["holdfast-used"] == 0
        assert same(seen[number], start())
    last = metrics[6]
    assert last["holdfast-aggregated"] == 1
    assert last["holdfast-expelled"] == len(ATTACKERS)
    assert last["holdfast-expelled-nodes"] == last["holdfast-dropped-nodes"] == [*ATTACKERS]
    assert last["holdfast-dropped-codes"] == [Code.EXPELLED] * len(ATTACKERS)
    assert last["holdfast-nodes"] == [*NODES[len(ATTACKERS) :]]
    assert strategy.verdicts.of("expelled") == tuple(ATTACKERS)
    assert all(caplog.text.count(f"client {node}: expelled since round") == 1 for node in ATTACKERS)


def test_among_honest_nodes_nobody_is_expelled_and_the_hearing_costs_its_rounds_alone():
    metrics, seen = run(robust(), 6, attackers=())
    n_held = sum(here["holdfast-hearing"] for here in metrics.values())
    assert {here["holdfast-expelled"] + here["holdfast-rewound"] for here in metrics.values()} == {0}
    assert seen[6]["bn.num_batches_tracked"] == 6 - n_held > 0


def test_a_watch_that_only_reports_changes_no_bit_of_the_training():
    strategy = robust(watch=factions(mode="report", sample=400))
    metrics, seen = run(strategy, 5)
    _, plain = run(robust(watch=None), 5)
    assert all(same(seen[number], plain[number]) for number in plain)
    assert metrics[5]["holdfast-expelled-nodes"] == []
    assert metrics[5]["holdfast-suspected-nodes"] == [*ATTACKERS]
    assert metrics[5]["holdfast-dropped"] == 0
    assert "client 101: suspected since round" in str(strategy.verdicts)
    assert strategy.verdicts.named == tuple(ATTACKERS)


def test_who_comes_late_is_told_from_who_sends_rubbish():
    strategy = robust()
    run(strategy, 5)
    late = 999
    grid = Federation({**federation().behaviours, late: lambda message: reply(message, 0.0)}, nodes=())
    messages = strategy.configure_train(6, record(start()), ConfigRecord(), grid)
    _, metrics = strategy.aggregate_train(6, grid.send_and_receive(messages))
    codes = dict(zip(metrics["holdfast-dropped-nodes"], metrics["holdfast-dropped-codes"], strict=True))
    assert codes[late] == Code.NO_SAY
    assert Code.EXPELLED in codes.values()


def test_a_server_optimiser_takes_no_step_in_the_hearing():
    inner = FedAdam(fraction_evaluate=0.0)
    run(Robust(median, watch=WATCH, inner=inner), 2)
    assert inner.m_t is None
    run(Robust(median, watch=WATCH, inner=inner), 5)
    assert inner.m_t is not None


@pytest.mark.parametrize("optimiser", [FedAdam, partial(FedAvgM, server_momentum=0.9)])
def test_a_rewind_gives_the_model_and_the_optimiser_from_before_attackers_had_a_say(optimiser):
    metrics, seen = run(robust(watch=AT_ONCE, inner=optimiser(fraction_evaluate=0.0)), 7)
    (number,) = [number for number, here in metrics.items() if here["holdfast-rewound"]]
    assert metrics[number]["holdfast-aggregated"] == 0
    assert not same(seen[number - 1], start())
    assert same(seen[number], start())
    fresh = robust(watch=None, inner=optimiser(fraction_evaluate=0.0))
    fresh._rounds_before = number  # FedAdam's step depends on the number of the round
    nodes = {n: b for n, b in federation().behaviours.items() if n not in ATTACKERS}
    grid, arrays = Federation(nodes, nodes=()), record(start())
    for later in range(1, 8 - number):
        messages = fresh.configure_train(later, arrays, ConfigRecord(), grid)
        arrays, _ = fresh.aggregate_train(later, grid.send_and_receive(messages))
        assert same(seen[number + later], arrays_in(arrays))


@pytest.mark.parametrize("stop", [2, 3, 5])
@pytest.mark.parametrize("watch", [WATCH, AT_ONCE], ids=["hearing", "rewind"])
def test_a_training_with_a_watch_resumes_to_the_same_bits(watch, stop, tmp_path):
    path = tmp_path / "training.npz"
    metrics, whole = run(robust(sparsefed(kept=0.2), watch), 7)
    run(robust(sparsefed(kept=0.2), watch, checkpoint=path), stop)
    strategy = robust(sparsefed(kept=0.2), watch, checkpoint=path, resume=True)
    after, resumed = run(strategy, 7)
    assert all(same(resumed[number], whole[number]) for number in range(stop, 8))
    assert after == {number: metrics[number] for number in range(stop + 1, 8)}
    assert strategy.verdicts.of("expelled") == tuple(ATTACKERS)


def test_resumed_without_its_watch_a_training_says_who_has_a_say_again(tmp_path, caplog):
    path = tmp_path / "training.npz"
    run(robust(checkpoint=path), 5)
    metrics, _ = run(robust(watch=None, checkpoint=path, resume=True), 6)
    assert f"{path} was made with watch={WATCH}" in caplog.text
    assert "resumes with None: whom it had expelled has a say again" in caplog.text
    assert metrics[6]["holdfast-used"] == len(NODES)


@pytest.mark.parametrize("before", [None, factions(sample=200)], ids=str)
def test_resumed_with_another_watch_a_training_hears_everybody_first(before, tmp_path, caplog):
    path = tmp_path / "training.npz"
    run(robust(watch=before, checkpoint=path), 4)
    metrics, seen = run(robust(checkpoint=path, resume=True), 9)
    assert f"was made with watch={before}, and resumes with {WATCH}: nodes are heard anew" in caplog.text
    assert metrics[5]["holdfast-hearing"] == 1
    assert same(seen[5], seen[4])
    assert metrics[9]["holdfast-expelled-nodes"] == [*ATTACKERS]


def test_resumed_with_another_rule_the_watch_remembers(tmp_path, caplog):
    path = tmp_path / "training.npz"
    run(robust(checkpoint=path), 5)
    metrics, _ = run(robust(median, checkpoint=path, resume=True), 6)
    assert "the state of median starts anew" in caplog.text
    assert metrics[6]["holdfast-expelled-nodes"] == [*ATTACKERS]
    assert "heard anew" not in caplog.text


def test_a_round_without_replies_leaves_the_verdicts_as_they_are():
    strategy = robust()
    run(strategy, 5)
    arrays, before = record(start()), strategy._state.watch
    silent = Federation(dict.fromkeys(NODES, lambda message: None), nodes=())
    messages = strategy.configure_train(6, arrays, ConfigRecord(), silent)
    _, metrics = strategy.aggregate_train(6, silent.send_and_receive(messages))
    assert metrics["holdfast-aggregated"] == 0
    assert strategy.verdicts.of("expelled") == tuple(ATTACKERS)
    assert strategy._state.watch is before


def test_a_second_training_hears_everybody_again():
    strategy = robust()
    run(strategy, 5)
    metrics, _ = run(strategy, 1)
    assert metrics[1]["holdfast-hearing"] == 1
    assert metrics[1]["holdfast-expelled"] == 0


def test_what_is_no_watch_is_refused():
    with pytest.raises(InputError, match=r"watch must be a watch, such as factions\(\); got Rule"):
        Robust(fedavg, watch=median)
