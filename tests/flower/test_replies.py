"""Each hostile reply is dropped by name and reason; the round continues as if the node had not been there."""

import logging

import numpy as np
import pytest
from flwr.app import ConfigRecord, Error, Message, MetricRecord, RecordDict

from holdfast import fedavg, invariant
from holdfast.flower import Code, Robust

from .hostile import HOSTILE
from .nodes import NODES, Federation, content, honest, model, one_round, record, trained


def without_the_first(rule):
    return one_round(Robust(rule), nodes=NODES[1:])[0]


def dropped(metrics):
    return dict(zip(metrics["holdfast-dropped-nodes"], metrics["holdfast-dropped-codes"], strict=True))


@pytest.mark.parametrize("rule", [fedavg, invariant], ids=lambda rule: rule.__name__)
@pytest.mark.parametrize("case", HOSTILE)
def test_a_hostile_reply_is_dropped_by_name_and_changes_nothing(case, rule, caplog):
    behave, code = HOSTILE[case]
    with caplog.at_level(logging.WARNING, logger="holdfast"):
        found, metrics, _ = one_round(Robust(rule), {11: behave})
    assert dropped(metrics) == {11: code}
    assert "client 11: " in caplog.text
    assert "\nINFO: all is well" not in caplog.text  # nobody writes lines of their own into the log
    assert sorted(metrics["holdfast-nodes"]) == list(NODES[1:])
    assert metrics["train_loss"] == 0.5
    for name, values in without_the_first(rule).items():
        np.testing.assert_allclose(found[name], values, rtol=1e-6, err_msg=name)


@pytest.mark.parametrize("case", HOSTILE)
def test_a_round_of_nothing_but_hostile_replies_leaves_the_model_loudly(case, caplog):
    behave, _ = HOSTILE[case]
    found, metrics, _ = one_round(Robust(invariant), dict.fromkeys(NODES, behave))
    assert metrics["holdfast-aggregated"] == 0
    assert metrics["holdfast-used"] == 0
    assert len(dropped(metrics)) == 5
    assert "the model stays as it is" in caplog.text
    for name, values in model().items():
        np.testing.assert_array_equal(found[name], values)


EVALUATION = {
    "an error": Code.ERROR,
    "nothing": Code.SILENT,
    "no records": Code.RECORDS,
    "two MetricRecords": Code.RECORDS,
    "no num-examples": Code.EXAMPLES,
    "negative num-examples": Code.EXAMPLES,
    "huge num-examples": Code.EXAMPLES,
    "NaN num-examples": Code.EXAMPLES,
}


@pytest.mark.parametrize("case", EVALUATION)
def test_a_hostile_evaluation_is_dropped_by_name(case, caplog):
    strategy = Robust(invariant)
    federation = Federation(
        {
            11: HOSTILE[case][0],
            **{node: lambda m: content(trained(12), train_loss=0.25) for node in NODES[1:]},
        }
    )
    messages = strategy.configure_evaluate(1, record(model()), ConfigRecord(), federation)
    metrics = strategy.aggregate_evaluate(1, federation.send_and_receive(messages))
    assert dropped(metrics) == {11: EVALUATION[case]}
    assert metrics["train_loss"] == 0.25
    assert metrics["holdfast-used"] == 4
    assert "client 11: " in caplog.text


def test_no_evaluation_at_all_is_said_loudly(caplog):
    strategy = Robust(invariant)
    federation = Federation(dict.fromkeys(NODES, lambda message: None))
    messages = strategy.configure_evaluate(1, record(model()), ConfigRecord(), federation)
    metrics = strategy.aggregate_evaluate(1, federation.send_and_receive(messages))
    assert dropped(metrics) == dict.fromkeys(NODES, Code.SILENT)
    assert "round 1 is not evaluated" in caplog.text


def test_a_second_reply_and_one_from_a_node_that_was_not_asked_are_dropped():
    strategy = Robust(invariant)
    federation = Federation()
    messages = strategy.configure_train(1, record(model()), ConfigRecord(), federation)
    replies = list(federation.send_and_receive(messages))
    evil = content({**trained(11), "fc.weight": np.full((4, 3), 50, np.float32)})
    stranger = Message(RecordDict(), dst_node_id=99, message_type="train")
    of_11 = next(message for message in messages if message.metadata.dst_node_id == 11)
    more = [Message(evil, reply_to=of_11), Message(evil, reply_to=stranger)]
    found, metrics = strategy.aggregate_train(1, [*replies, *more])
    assert metrics["holdfast-dropped-codes"] == [Code.UNASKED, Code.UNASKED]
    assert metrics["holdfast-dropped-nodes"] == [11, 99]
    assert metrics["holdfast-used"] == 5
    assert found["fc.weight"].numpy().max() < 10


def test_a_reply_to_another_message_than_the_rounds_own_does_not_count_as_the_nodes(caplog):
    strategy, federation = Robust(invariant), Federation()
    earlier, messages = (
        list(strategy.configure_train(number, record(model()), ConfigRecord(), federation))
        for number in (1, 2)
    )
    for message in (*earlier, *messages):  # as a grid does when it sends them
        message.metadata.__dict__["_message_id"] = message.object_id
    evil = content({**trained(11), "fc.weight": np.full((4, 3), 50, np.float32)})
    late = [Message(evil, reply_to=message) for message in earlier]
    found, metrics = strategy.aggregate_train(2, [*late, *federation.send_and_receive(messages)])
    assert metrics["holdfast-dropped-codes"] == [Code.UNASKED] * 5
    assert metrics["holdfast-nodes"] == list(NODES)
    assert "client 11: a reply to another message" in caplog.text
    assert found["fc.weight"].numpy().max() < 10


def test_a_node_that_the_superlink_reports_as_gone_is_silent():
    strategy = Robust(invariant)
    federation = Federation({15: lambda message: None})
    messages = strategy.configure_train(1, record(model()), ConfigRecord(), federation)
    replies = list(federation.send_and_receive(messages))
    from_superlink = Message(RecordDict(), dst_node_id=1, message_type="train")
    gone = Message(Error(code=5, reason="The node is unavailable."), reply_to=from_superlink)
    _, metrics = strategy.aggregate_train(1, [*replies, gone])
    assert dropped(metrics) == {15: Code.SILENT}


def test_a_message_that_cannot_be_read_at_all_is_dropped():
    strategy = Robust(invariant)
    federation = Federation()
    messages = strategy.configure_train(1, record(model()), ConfigRecord(), federation)
    replies = list(federation.send_and_receive(messages))
    replies[0].__dict__["_content"] = None  # neither content nor error
    replies[1].content["arrays"]["fc.weight"].__dict__["data"] = 17
    _, metrics = strategy.aggregate_train(1, replies)
    assert sorted(metrics["holdfast-dropped-codes"]) == [Code.UNREADABLE, Code.PAYLOAD]


def test_metrics_of_a_name_that_the_strategy_uses_are_left_out():
    said = {"holdfast-aggregated": 7, "holdfast-used": 7}
    behave = {node: lambda m: content(trained(m.metadata.dst_node_id), **said) for node in NODES}
    _, metrics, _ = one_round(Robust(invariant), behave)
    assert metrics["holdfast-aggregated"] == 1
    assert metrics["holdfast-used"] == 5


def test_the_order_in_which_replies_arrive_changes_no_bit():
    found = []
    for step in (1, -1):
        strategy, federation = Robust(fedavg), Federation()
        messages = strategy.configure_train(1, record(model()), ConfigRecord(), federation)
        messages = sorted(messages, key=lambda message: message.metadata.dst_node_id)
        replies = list(federation.send_and_receive(messages))[::step]
        found.append(strategy.aggregate_train(1, replies))
    (first, said), (second, said_again) = found
    assert first["fc.weight"].data == second["fc.weight"].data
    assert said["holdfast-nodes"] == said_again["holdfast-nodes"] == list(NODES)


def test_extra_records_of_configuration_are_no_reason_to_drop_a_reply():
    def behave(message):
        reply = honest(message)
        reply["config"] = ConfigRecord({"note": "hello"})
        return reply

    assert one_round(Robust(invariant), {11: behave})[1]["holdfast-used"] == 5


def test_arrays_in_an_evaluation_are_not_looked_at():
    strategy = Robust(invariant)

    def behave(message):
        return RecordDict({"a": record({}), "m": MetricRecord({"num-examples": 1, "accuracy": 0.8})})

    federation = Federation({11: behave})
    messages = strategy.configure_evaluate(1, record(model()), ConfigRecord(), federation)
    assert strategy.aggregate_evaluate(1, federation.send_and_receive(messages))["holdfast-used"] == 5
