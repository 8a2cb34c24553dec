"""A ledger that somebody else writes, as the page reads it: opened for each answer, never changed."""

import json
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._support.printable import printable
from ...errors import HoldfastError
from ...ledger import open_ledger
from ..kit import as_json
from .documents import empty_document, frame_of, monitor_document

if TYPE_CHECKING:
    from ...ledger import Ledger

__all__ = ["LedgerSource", "UnreadableError"]


class UnreadableError(Exception):
    """The ledger cannot be read at the moment; the text says why."""


class LedgerSource:
    """What a page asks of a ledger. The file may appear later, grow, or be replaced by another."""

    def __init__(self, path: Path) -> None:
        """Name the file; it is opened when something is asked for."""
        self.path = path
        self._lock = threading.Lock()  # one reads at a time: a thousand tabs cost no more than one
        self._made = lru_cache(maxsize=8)(self._make)

    def tag(self) -> str | None:
        """Return a text that changes whenever the ledger does; None if there is no ledger."""
        marks = []
        for path in (self.path, self.path.with_name(f"{self.path.name}-wal")):
            try:
                found = path.stat()
            except FileNotFoundError:
                marks.append("")
                continue
            # An empty log of writes says nothing, and comes and goes with whoever reads.
            marks.append(f"{found.st_ino:x}.{found.st_mtime_ns:x}.{found.st_size:x}" if found.st_size else "")
        return "-".join(marks) if marks[0] else None

    def document(self, *, last: int | None = None) -> dict[str, Any]:
        """Return what a page draws that knows all up to a round, given by its `seq` in the ledger."""
        found: dict[str, Any] = json.loads(self.answer(last=last))
        return found

    def answer(self, *, last: int | None = None) -> bytes:
        """Return the same as JSON."""
        with self._lock:
            return self._made(self.tag(), last)

    def _make(self, tag: str | None, last: int | None) -> bytes:
        if tag is None:
            found = empty_document(str(self.path))
        else:
            with self.opened() as ledger:
                found = monitor_document(ledger, path=str(self.path), last=last)
            found["tag"] = tag  # from before reading: what came meanwhile is found by the next question
        return as_json(found).encode()

    def frame(self, number: int) -> bytes | None:
        """Return the map of a round, as JSON; None if there is none."""
        with self._lock, self.opened() as ledger:
            found = frame_of(ledger, number)
        return None if found is None else as_json(found).encode()

    @contextmanager
    def opened(self) -> "Iterator[Ledger]":
        """Open the ledger for reading; what goes wrong is an `UnreadableError` that says what."""
        try:
            with open_ledger(self.path, read_only=True) as ledger:
                yield ledger
        except (HoldfastError, OSError, sqlite3.Error) as error:
            raise UnreadableError(printable(error, limit=300)) from error
