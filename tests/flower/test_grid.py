"""A reply that cannot be had or decoded costs its node the round, and neither the others nor the training."""

import threading

import pytest
from flwr.superlink.grid import HttpGrid
from google.protobuf.message import DecodeError

from holdfast import invariant
from holdfast.flower import Code, Robust
from holdfast.flower.grid import guarded

from .nodes import NODES, Federation, answered, honest, model, record


class Uploading(HttpGrid):
    """A SuperLink's grid without the network: it keeps what nodes uploaded, and decodes it when asked."""

    def __init__(self, uploads=None):
        self.uploads = dict.fromkeys(NODES, honest) | (uploads or {})
        self.replies, self.lost = {}, []

    def get_node_ids(self):
        return list(self.uploads)

    def push_messages(self, messages):
        for message in messages:
            message.metadata.__dict__["_message_id"] = message.object_id
            self.replies[message.object_id] = message
        return [
            None if message.metadata.dst_node_id in self.lost else message.object_id for message in messages
        ]

    def pull_messages(self, message_ids):
        """Decode in order, like Flower's own: what was pulled is gone, also if a later one raises."""
        found = []
        for name in list(message_ids):
            message = self.replies.pop(name)
            upload = self.uploads[message.metadata.dst_node_id]
            if isinstance(upload, BaseException):
                raise upload
            found.append(answered(message, upload(message)))
        return found


def trained(grid):
    return Robust(invariant, fraction_evaluate=0.0).start(grid, record(model()), num_rounds=2)


@pytest.mark.parametrize(
    "error",
    [
        IndexError("list index out of range"),
        KeyError("arraychunk_ids"),
        ValueError("Unexpected set of `children`"),
        DecodeError("Error parsing message\n\x1b[31m"),
        RecursionError(),
        MemoryError(),
    ],
    ids=repr,
)
def test_a_reply_that_cannot_be_decoded_is_dropped_by_name(error, caplog):
    result = trained(Uploading({13: error}))
    for said in result.train_metrics_clientapp.values():
        assert said["holdfast-nodes"] == [11, 12, 14, 15]
        assert said["holdfast-dropped-nodes"] == [13]
        assert said["holdfast-dropped-codes"] == [Code.UNREADABLE]
    assert f"client 13: cannot be decoded: {type(error).__name__}" in caplog.text
    assert "\x1b" not in caplog.text


def test_a_reply_that_is_announced_and_never_uploaded_holds_nobody_up(monkeypatch):
    monkeypatch.setattr("holdfast.flower.grid.PATIENCE", 0.1)
    monkeypatch.setattr("flwr.superlink.grid.http_grid.time.sleep", lambda seconds: None)
    ended = threading.Event()
    n_fetched = []

    def never_uploaded(message):
        n_fetched.append(1)
        ended.wait()

    grid = Uploading({13: never_uploaded})
    strategy = Robust(invariant, fraction_evaluate=0.0)
    result = strategy.start(grid, record(model()), num_rounds=2, timeout=0.5)
    ended.set()
    for said in result.train_metrics_clientapp.values():
        assert said["holdfast-nodes"] == [11, 12, 14, 15]
        assert said["holdfast-dropped-nodes"] == [13]
        assert said["holdfast-dropped-codes"] == [Code.SILENT]
    assert len(n_fetched) == 2  # once per round, and not once more per look


def test_a_reply_that_takes_long_to_fetch_comes_with_a_later_look(monkeypatch):
    monkeypatch.setattr("holdfast.flower.grid.PATIENCE", 0.01)
    monkeypatch.setattr("flwr.superlink.grid.http_grid.time.sleep", lambda seconds: uploaded.set())
    uploaded = threading.Event()

    def large(message):
        uploaded.wait()
        return honest(message)

    for said in trained(Uploading({13: large})).train_metrics_clientapp.values():
        assert said["holdfast-nodes"] == list(NODES)


@pytest.mark.parametrize("at_once", [1, 2, 5])
def test_as_many_replies_as_there_are_come_whole(monkeypatch, at_once):
    monkeypatch.setattr("holdfast.flower.grid.AT_ONCE", at_once)
    for said in trained(Uploading()).train_metrics_clientapp.values():
        assert said["holdfast-nodes"] == list(NODES)


def test_a_superlink_that_is_gone_ends_the_training():
    with pytest.raises(ConnectionError, match="refused"):
        trained(Uploading({13: ConnectionError("refused")}))


def test_a_message_that_could_not_be_sent_is_not_waited_for():
    grid = Uploading()
    grid.lost = [12]
    result = trained(grid)
    assert result.train_metrics_clientapp[2]["holdfast-nodes"] == [11, 13, 14, 15]


def test_a_grid_of_another_kind_stays_as_it_is():
    grid = Federation()
    assert guarded(grid) is grid
