"""Metrics of screened replies: averaged by examples, bounded, with medians beside them."""

import numpy as np
import pytest
from flwr.app import ConfigRecord, MetricRecord, RecordDict
from flwr.serverapp.strategy import FedAvg

from holdfast import invariant
from holdfast.flower import Robust

from .nodes import NODES, Federation, content, model, one_round, record, trained


def evaluated(strategy, said):
    """Return what the strategy makes of evaluations, [(examples, accuracy), ...]."""
    behave = {
        node: lambda message, said=one: RecordDict(
            {"m": MetricRecord({"num-examples": said[0], "accuracy": said[1], "parts": [said[1], 1.0]})}
        )
        for node, one in enumerate(said)
    }
    federation = Federation(behave, nodes=())
    messages = strategy.configure_evaluate(1, record(model()), ConfigRecord(), federation)
    return strategy.aggregate_evaluate(1, federation.send_and_receive(messages))


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
    assert "node 9 claims 9.9e+07 examples" in caplog.text


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
