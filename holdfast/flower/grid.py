"""A grid that outlives what nodes upload.

Flower's grid decodes all replies that have come in one go, and a node that writes its own bytes can make that
raise: the run would end, and what other nodes sent with it would be lost.
"""

import sys
from collections.abc import Iterable
from typing import Any, cast

from flwr.app import Error, Message
from flwr.serverapp import Grid
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from .._support.printable import printable

__all__ = ["UNDECODABLE", "guarded"]

#: The code of the error in the place of a reply that cannot be decoded; Flower's own codes begin with 0.
UNDECODABLE = -1
#: What decoding a stranger's bytes can end in. What a lost connection ends in is not among it.
RAISED = (
    ArithmeticError,
    AttributeError,
    DecodeError,
    LookupError,
    MemoryError,
    RecursionError,
    TypeError,
    ValueError,
)


def guarded(grid: Grid) -> Grid:
    """Return a SuperLink's grid with each reply decoded on its own, and any other grid as it is."""
    superlinks = getattr(
        sys.modules.get("flwr.superlink.grid"), "HttpGrid", None
    )  # imported where it is used
    is_superlinks = superlinks is not None and isinstance(grid, superlinks)
    return cast(Grid, _Guarded(grid)) if is_superlinks else grid


class _Guarded:
    """Stands in for a grid, and sends and receives as it does."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._sent: dict[str, Message] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._grid, name)

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        sent = list(messages)
        pushed = zip(self._grid.push_messages(sent), sent, strict=False)  # none if it was all too large
        self._sent = {name: message for name, message in pushed if name is not None}
        return list(self._sent)

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        return [reply for name in message_ids for reply in self._pulled(name)]

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Any:
        own: Any = type(self._grid)
        return own.send_and_receive(self, messages, timeout=timeout)  # by way of the two above

    def _pulled(self, name: str) -> Iterable[Message]:
        try:
            return self._grid.pull_messages([name])
        except RAISED as error:
            reason = f"cannot be decoded: {type(error).__name__}: {printable(error)}"
            return [Message(Error(UNDECODABLE, reason), reply_to=self._sent[name])]
