"""A reply that cannot be decoded costs its node the round, and neither the others nor the training."""

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
