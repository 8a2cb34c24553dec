"""Metrics: averaged by examples, bounded, with medians beside them; they never decide about a model."""

import numpy as np
import pytest
from flwr.app import ConfigRecord, MetricRecord, RecordDict
from flwr.serverapp.strategy import FedAvg

from holdfast import fedavg, invariant
from holdfast.flower import Robust
from holdfast.flower.metrics import MOST_NAMES, MOST_NUMBERS

from .hostile import ODD_METRICS
from .nodes import NODES, Federation, content, model, one_round, record, trained


def evaluated(strategy, said):
    """Return what the strategy makes of evaluations, [(examples, accuracy), ...] or a list of metrics."""
    told = [
        one if isinstance(one, dict) else {"num-examples": one[0], "accuracy": one[1], "parts": [one[1], 1.0]}
        for one in said
    ]
    behave = {
        node: lambda message, one=one: RecordDict({"m": MetricRecord(one)}) for node, one in enumerate(told)
    }
    federation = Federation(behave, nodes=())
    messages = strategy.configure_evaluate(1, record(model()), ConfigRecord(), federation)
    return strategy.aggregate_evaluate(1, federation.send_and_receive(messages))


@pytest.mark.parametrize("rule", [fedavg, invariant], ids=str)
@pytest.mark.parametrize("case", ODD_METRICS)
def test_odd_metrics_cost_a_node_those_metrics_and_never_its_model(case, rule, caplog):
    found, metrics, _ = one_round(Robust(rule), {11: ODD_METRICS[case]})
    plain, expected, _ = one_round(Robust(rule))
    for name, values in plain.items():
        np.testing.assert_array_equal(found[name], values, err_msg=name)
    assert metrics["holdfast-used"] == 5
    assert metrics["holdfast-dropped"] == 0
    assert metrics["holdfast-odd-metrics-nodes"] == [11]
    assert expected["holdfast-odd-metrics-nodes"] == []
    assert metrics.keys() == expected.keys()
    assert metrics["train_loss"] == metrics["holdfast-median-train_loss"] == 0.5
    assert "client 11: averages do without 1 of its metrics" in caplog.text
    assert "\nINFO: all is well" not in caplog.text


@pytest.mark.parametrize("odd", [{}, {"accuracy": float("nan")}, {"accuracy": [0.1]}, {"accurcy": 0.1}])
def test_a_node_with_odd_metrics_is_evaluated_by_those_it_has(odd):
    good = {"num-examples": 10, "accuracy": 0.8, "loss": 0.2}
    found = evaluated(Robust(invariant), [good] * 4 + [{"num-examples": 10, "loss": 1.2, **odd}])
    assert found["accuracy"] == pytest.approx(0.8)
    assert found["loss"] == pytest.approx(0.4)
    assert found["holdfast-used"] == 5
    assert found["holdfast-odd-metrics-nodes"] == [4]
    assert "accurcy" not in found


TOO_MANY = {
    "names": {"num-examples": 10, "accuracy": 0.1, **{f"m{i}": 1.0 for i in range(MOST_NAMES)}},
    "numbers": {"num-examples": 10, "accuracy": 0.1, "parts": [1.0] * MOST_NUMBERS},
}


@pytest.mark.parametrize("case", TOO_MANY)
def test_more_metrics_than_are_looked_at_cost_a_node_its_metrics_and_never_its_model(case, caplog):
    good = {"num-examples": 10, "accuracy": 0.8}
    found = evaluated(Robust(invariant), [good] * 4 + [TOO_MANY[case]])
    assert found["accuracy"] == found["holdfast-median-accuracy"] == pytest.approx(0.8)
    assert found["holdfast-used"] == 5
    assert found["holdfast-odd-metrics-nodes"] == [4]
    assert "client 4: none of its metrics is averaged: they are" in caplog.text
    said = {**TOO_MANY[case], "train_loss": 7.0}
    metrics = one_round(Robust(invariant), {11: lambda message: content(trained(11), **said)})[1]
    assert metrics["holdfast-nodes"] == list(NODES)
    assert metrics["holdfast-odd-metrics-nodes"] == [11]
    assert metrics["train_loss"] == pytest.approx(0.5)


@pytest.mark.parametrize("count", [MOST_NAMES, MOST_NAMES + 1])
def test_as_many_metrics_as_are_looked_at_are_averaged(count):
    said = {"num-examples": 10, **{f"m{i}": 1.0 for i in range(count - 1)}}
    found = evaluated(Robust(invariant), [said] * 3)
    assert ("m0" in found) == (count == MOST_NAMES)


#: Seventeen honest nodes of which no two report the same metrics, and three attackers who agree.
PLURALITY = [{"num-examples": 10, "accuracy": 0.8, f"gpu-{node}": 1.0} for node in range(17)]
PLURALITY += [{"num-examples": 10, "accuracy": [0.0], "score": 1.0}] * 3


def test_three_of_twenty_who_agree_on_their_metrics_do_not_decide_about_the_models():
    behave = {
        node: lambda message, said=said: content(trained(12), train_loss=None, **said)
        for node, said in enumerate(PLURALITY)
    }
    metrics = one_round(Robust(invariant), behave, nodes=())[1]
    assert metrics["holdfast-nodes"] == list(range(20))
    assert metrics["accuracy"] == pytest.approx(0.8)


def test_three_of_twenty_who_agree_on_their_metrics_do_not_decide_about_the_others():
    found = evaluated(Robust(invariant), PLURALITY)
    assert found["accuracy"] == found["holdfast-median-accuracy"] == pytest.approx(0.8)
    assert found["holdfast-used"] == 20
    assert not {"score", "gpu-0"} & found.keys()  # which no majority reports


def test_a_metric_without_one_form_that_most_nodes_have_is_left_out():
    found = evaluated(Robust(invariant), [{"num-examples": 1, "recall": [0.5] * n} for n in (1, 2, 2, 3)])
    assert "recall" not in found
    assert found["holdfast-odd-metrics-nodes"] == [0, 1, 2, 3]


def test_a_reply_without_metrics_but_its_count_is_used():
    behave = {node: lambda m: content(trained(12), train_loss=None) for node in NODES}
    metrics = one_round(Robust(invariant), behave)[1]
    assert metrics["holdfast-used"] == 5
    assert metrics["holdfast-odd-metrics-nodes"] == []


def test_honest_evaluations_are_averaged_as_flower_averages_them():
    said = [(10, 0.5), (20, 0.7), (40, 0.9)]
    ours, theirs = evaluated(Robust(invariant), said), evaluated(FedAvg(), said)
    for key in theirs:
        assert ours[key] == pytest.approx(theirs[key])
    assert ours["holdfast-median-accuracy"] == 0.7


def test_a_node_that_claims_all_examples_does_not_own_the_average(caplog):
    found = evaluated(Robust(invariant), [(100, 0.8)] * 9 + [(99_000_000, 0.0)])
    assert found["accuracy"] == pytest.approx(0.8 * 900 / 1900)
    assert found["holdfast-median-accuracy"] == 0.8
    assert "sample counts above 1000 count as 1000: of client 9" in caplog.text


def test_the_same_bound_holds_in_training():
    behave = {11: lambda m: content(trained(11), train_loss=1.5, **{"num-examples": 99_000_000})}
    metrics = one_round(Robust(invariant), behave)[1]
    assert metrics["train_loss"] == pytest.approx((100 * 1.5 + 40 * 0.5) / 140)


def test_nobody_with_examples_counts_all_alike():
    assert evaluated(Robust(invariant), [(0, 0.2), (0, 0.4)])["accuracy"] == pytest.approx(0.3)


def test_a_function_of_the_users_own_gets_the_good_replies():
    seen = []

    def own(records, key):
        seen.append((len(records), key))
        return MetricRecord({"mine": 1.5, "holdfast-used": 99})

    strategy = Robust(invariant, evaluate_metrics_aggr_fn=own, train_metrics_aggr_fn=own)
    found = evaluated(strategy, [(10, 0.5), (10, 0.5), (-1, 0.5)])
    assert found["mine"] == 1.5
    assert found["holdfast-used"] == 2
    assert one_round(strategy, {11: lambda message: None})[1]["mine"] == 1.5
    assert seen == [(2, "num-examples"), (4, "num-examples")]


def test_a_function_of_the_users_own_gets_nothing_that_it_would_stumble_over():
    seen = []

    def trusting(records, key):
        said = [dict(record.metric_records["m"]) for record in records]
        seen.extend(said)
        return MetricRecord({"best": max(one["accuracy"] for one in said)})

    good = {"num-examples": 10, "accuracy": 0.5}
    odd = [{**good, "accuracy": float("nan")}, {**good, "more": 9.0}, {**good, "num-examples": 10**7}]
    found = evaluated(Robust(invariant, evaluate_metrics_aggr_fn=trusting), [good, good, *odd])
    assert found["best"] == 0.5
    assert seen == [good, good, good, {**good, "num-examples": 100}]


def test_a_function_of_the_users_own_that_fails_does_not_stop_a_round(caplog):
    def failing(records, key):
        raise ZeroDivisionError("no examples")

    strategy = Robust(invariant, train_metrics_aggr_fn=failing)
    _, metrics, _ = one_round(strategy)
    assert metrics["train_loss"] == 0.5
    assert "the metrics function failed" in caplog.text


def test_training_metrics_are_those_of_the_used_replies():
    def behave(message):
        node = message.metadata.dst_node_id
        weight = np.full((4, 3), np.nan, np.float32) if node == 11 else trained(node)["fc.weight"]
        loss = 1e6 if node == 11 else 0.25
        return content({**trained(node), "fc.weight": weight}, train_loss=loss)

    metrics = one_round(Robust(invariant), dict.fromkeys(NODES, behave))[1]
    assert metrics["train_loss"] == 0.25


def test_ids_of_nodes_keep_all_their_digits():
    nodes = [458009329174590737, 16278305726111285352, 3]  # no one type of integer of an array holds them all
    behave = {
        node: lambda message, number=number: content(trained(number)) for number, node in enumerate(nodes)
    }
    metrics = one_round(Robust(invariant), behave, nodes=())[1]
    assert sorted(metrics["holdfast-nodes"]) == sorted(nodes)
