"""Nodes in this process, in the place of the machines that Flower's SuperLink would reach: a trial in seconds."""

from typing import Any

from flwr.app import Context, RecordDict
from flwr.clientapp import ClientApp
from flwr.serverapp import Grid
from flwr.supercore.task_identity import TaskIdentity

# What a SuperLink would tell the server.
TaskIdentity.task_id = TaskIdentity.run_id = TaskIdentity.node_id = 1


class NodesHere(Grid):
    """A grid that calls the ClientApp of every node itself."""

    def __init__(self, app: ClientApp, n_nodes: int) -> None:
        self.app = app
        self.contexts = {
            100 + number: Context(1, 100 + number, {"partition-id": number}, RecordDict(), {})
            for number in range(n_nodes)
        }

    def get_node_ids(self) -> list[int]:
        return list(self.contexts)

    def send_and_receive(self, messages: Any, *, timeout: float | None = None) -> list[Any]:
        return [self.app(message, self.contexts[message.metadata.dst_node_id]) for message in messages]

    def _none(self, *_: Any, **__: Any) -> Any:
        raise NotImplementedError("nothing of this is needed here")

    set_run = create_message = push_messages = pull_messages = _none
    run = property(_none)
