"""A federation in one process: real messages, and a grid that hands them to functions instead of nodes."""

from collections.abc import Callable

import numpy as np
from flwr.app import ArrayRecord, ConfigRecord, Error, Message, MetricRecord, RecordDict
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

# A ServerApp's process has these from its SuperLink; without them Flower makes no messages.
TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1

NODES = (11, 12, 13, 14, 15)


def model(seed=0):
    """Return a small model with a layer and BatchNorm, as a state_dict has it."""
    rng = np.random.default_rng(seed)
    return {
        "fc.weight": rng.normal(size=(4, 3)).astype(np.float32),
        "bn.weight": rng.normal(size=4).astype(np.float32),
        "bn.running_mean": np.zeros(4, np.float32),
        "bn.running_var": np.ones(4, np.float32),
        "bn.num_batches_tracked": np.array(5, np.int64),
    }


def record(arrays):
    """Return named arrays as Flower holds them."""
    found = ArrayRecord()
    for name, values in arrays.items():
        found[name] = ArrayRecord([np.asarray(values)])["0"]
    return found


def arrays_in(found):
    """Return the named arrays in a record, as Flower itself reads them."""
    return {name: array.numpy() for name, array in found.items()}


def trained(node, base=None, *, step=0.1):
    """Return what an honest node makes of the model."""
    rng = np.random.default_rng(node)
    base = model() if base is None else base
    sent = {name: values + np.asarray(step, values.dtype) for name, values in base.items()}
    sent["fc.weight"] = sent["fc.weight"] + rng.normal(0, step / 10, (4, 3)).astype(np.float32)
    sent["bn.running_mean"] = rng.normal(0.5, 0.1, 4).astype(np.float32)
    sent["bn.running_var"] = rng.uniform(1, 2, 4).astype(np.float32)
    sent["bn.num_batches_tracked"] = np.array(node, np.int64)
    return sent


def content(arrays, **metrics):
    """Return a reply's content with 10 examples and a loss, unless told otherwise."""
    said = {"num-examples": 10, "train_loss": 0.5, **metrics}
    return RecordDict(
        {
            "arrays": arrays if isinstance(arrays, ArrayRecord) else record(arrays),
            "metrics": MetricRecord({key: value for key, value in said.items() if value is not None}),
        }
    )


def answered(message, answer):
    """Return the reply to a message: of a RecordDict, or of an Error."""
    return Message(answer, reply_to=message)


def honest(message):
    """Return what an honest node replies."""
    base = arrays_in(message.content["arrays"])
    if message.metadata.message_type == "evaluate":
        return RecordDict({"metrics": MetricRecord({"num-examples": 10, "accuracy": 0.8})})
    return content(trained(message.metadata.dst_node_id, base))


def crashing(message):
    return Error(code=2, reason="Traceback (most recent call last):\n  ValueError: out of cheese")


class Federation(Grid):
    """A grid of functions: `behaviours` says what a node replies, by default what an honest one does."""

    def __init__(self, behaviours: dict[int, Callable] | None = None, nodes=NODES) -> None:
        self.behaviours = dict.fromkeys(nodes, honest) | (behaviours or {})
        self.sent: list[Message] = []

    def set_run(self, run) -> None:
        raise NotImplementedError

    @property
    def run(self):
        raise NotImplementedError

    def create_message(self, *args, **kwargs):
        raise NotImplementedError

    def get_node_ids(self):
        return list(self.behaviours)

    def push_messages(self, messages):
        raise NotImplementedError

    def pull_messages(self, message_ids):
        raise NotImplementedError

    def send_and_receive(self, messages, *, timeout=None):
        replies = []
        for message in messages:
            self.sent.append(message)
            answer = self.behaviours[message.metadata.dst_node_id](message)
            if answer is not None:
                replies.append(answered(message, answer))
        return replies


def one_round(strategy, behaviours=None, *, base=None, number=1, nodes=NODES):
    """Train one round; return the new model as arrays, the metrics, and the federation."""
    federation = Federation(behaviours, nodes)
    arrays = record(model() if base is None else base)
    messages = strategy.configure_train(number, arrays, ConfigRecord(), federation)
    replies = federation.send_and_receive(messages)
    found, metrics = strategy.aggregate_train(number, replies)
    return arrays_in(found), metrics, federation
