"""A round over files in the ledger of its federation: who has no say before it, and what came of it after."""

import hashlib
import logging
import sqlite3
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ..core.diagnostics import Diagnostics
from ..defending.screening import Screened
from ..ledger import Ledger, entry_of, open_ledger
from ..watching import Verdicts

__all__ = ["Book", "booked"]

log = logging.getLogger("holdfast")


class Book:
    """The ledger while one round is made; without one, nobody is banned and nothing is written."""

    def __init__(self, ledger: Ledger | None) -> None:
        """Read what operators have decided."""
        self.ledger, self.started = ledger, time.monotonic()
        decided = {} if ledger is None else ledger.decided()
        self.banned = {client: why for client, (action, why) in decided.items() if action == "ban"}
        self.pardoned = frozenset(client for client, (action, _) in decided.items() if action == "pardon")

    def without_banned(self, found: Screened) -> Screened:
        """Return the round without the rows of banned clients."""
        rows = {row: client for row, client in enumerate(found.clients) if client in self.banned}
        whys = {row: self.banned[client] for row, client in rows.items()}
        return found.without(
            {row: "banned by the operator" + (f": {why}" if why else "") for row, why in whys.items()}
        )

    def hash_of(self, path: Path) -> str | None:
        """Return the hash of a model's files, where it is to be written down."""
        if self.ledger is None:
            return None
        files = sorted(one for one in path.rglob("*") if one.is_file()) if path.is_dir() else [path]
        digest = hashlib.sha256()
        for file in files:
            with file.open("rb") as opened:
                digest.update(hashlib.file_digest(opened, "sha256").digest())
        return digest.hexdigest()

    def write(
        self,
        said: Diagnostics,
        verdicts: Verdicts | None,
        *,
        asked: Any,
        examples: Mapping[str, float] | None,
        **facts: Any,
    ) -> None:
        """Write the round, as the one after the last."""
        if self.ledger is None:
            return
        facts |= {"asked": asked, "examples": examples, "seconds": time.monotonic() - self.started}
        try:
            number = 1 + max((one["round"] for one in self.ledger.rounds()), default=0)
            self.ledger.write(entry_of(said, verdicts, round=number, **facts))
        except (sqlite3.Error, OSError) as error:  # the model is written, and stays
            log.error("the round could not be written into the ledger %s: %s", self.ledger.path, error)


@contextmanager
def booked(path: str | Path | None, **facts: Any) -> Iterator[Book]:
    """Yield the ledger for one round, which nobody else writes meanwhile."""
    if path is None:
        yield Book(None)
        return
    with open_ledger(path) as ledger:
        ledger.hold()
        last = max((one["round"] for one in ledger.rounds()), default=0)
        ledger.begin(after=last, source="files", **facts)
        yield Book(ledger)
