"""A grid that outlives what nodes upload, and what they do not.

Flower's grid fetches and decodes all replies that have come in one go. A node that writes its own bytes can
make that raise, which ends the run and loses what others sent with it; one that announces a reply and never
uploads it holds everybody up, beyond the time that a round has.
"""

import sys
import threading
from collections.abc import Callable, Collection, Iterable
from concurrent.futures import Future, wait
from typing import Any, cast

from flwr.app import Error, Message
from flwr.serverapp import Grid
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from .._support.printable import printable

__all__ = ["UNDECODABLE", "guarded", "without"]

#: The code of the error in the place of a reply that cannot be decoded; Flower's own codes begin with 0.
UNDECODABLE = -1
AT_ONCE = 32  # replies that are fetched at the same time
PATIENCE = 3.0  # seconds until the next are fetched beside those that take longer
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
    """Return a SuperLink's grid with each reply fetched on its own, and any other grid as it is."""
    superlinks = getattr(
        sys.modules.get("flwr.superlink.grid"), "HttpGrid", None
    )  # imported where it is used
    is_superlinks = superlinks is not None and isinstance(grid, superlinks)
    return cast(Grid, _Guarded(grid)) if is_superlinks else grid


def without(grid: Grid, banned: Collection[int], *, least: int) -> Grid:
    """Return a grid that does not know these nodes, as long as so many others are there.

    A strategy that waits for more nodes than are left would wait forever: it sees them all, and what it wants
    to send to the others is not sent.
    """
    return cast(Grid, _Without(grid, frozenset(banned), least)) if banned else grid


class _Without:
    """Stands in for a grid in which some nodes are not there."""

    def __init__(self, grid: Grid, banned: frozenset[int], least: int) -> None:
        self._grid, self._banned, self._least = grid, banned, least

    def __getattr__(self, name: str) -> Any:
        return getattr(self._grid, name)

    def get_node_ids(self) -> list[int]:
        there = list(self._grid.get_node_ids())
        left = [node for node in there if node not in self._banned]
        return left if len(left) >= self._least else there


class _Guarded:
    """Stands in for a grid, and sends and receives as it does."""

    def __init__(self, grid: Grid) -> None:
        self._grid = grid
        self._sent: dict[str, Message] = {}
        self._fetching: dict[str, Future[Iterable[Message]]] = {}

    def __getattr__(self, name: str) -> Any:
        return getattr(self._grid, name)

    def push_messages(self, messages: Iterable[Message]) -> list[str]:
        sent = list(messages)
        pushed = zip(self._grid.push_messages(sent), sent, strict=False)  # none if it was all too large
        self._sent = {name: message for name, message in pushed if name is not None}
        self._fetching = {}
        return list(self._sent)

    def pull_messages(self, message_ids: Iterable[str]) -> list[Message]:
        """Return the replies that are here; those that are still being fetched come with a later call."""
        names = list(message_ids)
        for first in range(0, len(names), AT_ONCE):
            some = names[first : first + AT_ONCE]
            for name in some:
                if name not in self._fetching:
                    self._fetching[name] = _started(self._grid.pull_messages, [name])
            wait([self._fetching[name] for name in some], PATIENCE)
        here = [name for name in names if self._fetching[name].done()]
        return [reply for name in here for reply in self._fetched(name)]

    def send_and_receive(self, messages: Iterable[Message], *, timeout: float | None = None) -> Any:
        own: Any = type(self._grid)
        return own.send_and_receive(self, messages, timeout=timeout)  # by way of the two above

    def _fetched(self, name: str) -> Iterable[Message]:
        try:
            return self._fetching.pop(name).result()
        except RAISED as error:
            reason = f"cannot be decoded: {type(error).__name__}: {printable(error)}"
            return [Message(Error(UNDECODABLE, reason), reply_to=self._sent[name])]


def _started(function: Callable[..., Iterable[Message]], *args: Any) -> Future[Iterable[Message]]:
    """Return what a function will have returned; a thread that never ends keeps no process from ending."""
    found: Future[Iterable[Message]] = Future()

    def run() -> None:
        try:
            found.set_result(function(*args))
        except BaseException as error:
            found.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return found
