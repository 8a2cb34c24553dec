"""A ledger as it is opened: one file that a server writes and others read meanwhile."""

import logging
import sqlite3
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, Literal, Self

from .._support.ids import Name, named
from .._support.locks import held, lock_of
from .._support.printable import printable
from ..errors import DataError, InputError
from . import reading
from .chain import append_line, flush
from .connecting import read_connection, write_connection
from .entries import RoundEntry, as_id, canonical, finite, plain
from .writing import close_requests, insert_row, keep_facts, number_of, undo_rounds, write_round

__all__ = ["Action", "Ledger", "open_ledger"]

Action = Literal["ban", "pardon"]

log = logging.getLogger("holdfast")


def open_ledger(path: str | Path, *, read_only: bool = False) -> "Ledger":
    """Return the ledger in a file, which is made if it is to be written; a DataError if it is no ledger.

    Whoever reads never keeps the server from writing, and sees only rounds that were written as a whole.
    Several may be open for writing, for decisions, say; rounds are written by one of them, see `hold`.

    >>> import tempfile
    >>> with open_ledger(Path(tempfile.mkdtemp()) / "federation.db") as ledger:
    ...     ledger.overview()["n_clients"]
    0
    """
    path = Path(path)
    if read_only and not path.is_file():
        raise DataError(f"no ledger at {path}")
    try:
        connection = read_connection(path) if read_only else write_connection(path)
    except sqlite3.DatabaseError as error:
        raise DataError(f"{path} cannot be opened as a ledger: {error}") from None
    except OSError as error:
        raise InputError(f"ledger={str(path)!r} cannot be written: {error.strerror}") from None
    return Ledger(path, connection)


class Ledger:
    """What is known of a federation, on disk. Made by `open_ledger`; a context manager.

    >>> import tempfile
    >>> with open_ledger(Path(tempfile.mkdtemp()) / "federation.db") as ledger:
    ...     _ = ledger.write(RoundEntry(round=1, rule="median()"))
    ...     [one["rule"] for one in ledger.rounds()]
    ['median()']
    """

    def __init__(self, path: Path, connection: sqlite3.Connection) -> None:
        """Keep the open file."""
        self.path = path
        self._connection = connection
        self._lock = threading.RLock()
        self._held, self._is_ours = ExitStack(), False

    def __enter__(self) -> Self:
        """Return the ledger itself."""
        return self

    def __exit__(self, *error: object) -> None:
        """Close the file."""
        self.close()

    def close(self) -> None:
        """Close the file; what was written stays."""
        with self._lock, self._held:
            self._is_ours = False
            self._connection.close()

    # What is written

    def hold(self) -> None:
        """Let nobody else write rounds until this ledger is closed; an InputError if somebody does already.

        Two trainings that write the same rounds would undo each other's. `begin` and `write` hold it, too.
        """
        with self._lock:
            if not self._is_ours:
                try:
                    self._is_ours = self._held.enter_context(held(lock_of(self.path.absolute())))
                except OSError as error:
                    raise InputError(f"ledger {self.path} cannot be written: {error.strerror}") from None
            if not self._is_ours:
                raise InputError(
                    f"another training writes {self.path}: end it, or name another ledger for this one"
                )

    def begin(self, *, after: int = 0, **facts: Any) -> list[int]:
        """Note what is about to run, `rule`, `watch`, `source` or other facts, and after which round.

        Rounds after that one are marked as undone, and returned: they are made again.
        """
        with self._writing() as connection:
            self.hold()
            known = {"created": time.time(), **reading.facts_of(connection)}
            keep_facts(connection, {**known, "stopped": None, **facts})
            close_requests(connection, "restart")  # of a process that was killed; it may ask again
            undone = undo_rounds(connection, after, "the training started again from an earlier round")
            told = {key: printable(value, limit=1000) for key, value in facts.items()}
            append_line(
                connection, {"kind": "begin", "at": time.time(), "after": after, "undoes": undone, **told}
            )
        return undone

    def write(self, entry: RoundEntry, *, at: float | None = None) -> str:
        """Write a round, all of it or nothing, and return the hash of its line in the audit log."""
        with self._writing() as connection:
            self.hold()
            return write_round(connection, entry, at=time.time() if at is None else float(at))

    def measure(
        self,
        round: int,
        *,
        accuracy: float | None = None,
        attack_success: float | None = None,
        loss: float | None = None,
        metrics: Mapping[str, Any] | None = None,
    ) -> None:
        """Add what was measured of the model after a round that is written already."""
        with self._writing() as connection:
            row = reading.round_of(connection, round)
            if row is None:
                raise InputError(f"round {round} is not in the ledger, so nothing can be added to it")
            new = {"accuracy": accuracy, "attack_success": attack_success, "loss": loss}
            values: dict[str, Any] = {name: finite(value) for name, value in new.items() if value is not None}
            added = {printable(key): plain(value) for key, value in (metrics or {}).items()}
            values["metrics"] = canonical({**reading.json_in(row["metrics"]), **added})
            sets = ", ".join(f"{name} = ?" for name in values)
            connection.execute(f"UPDATE rounds SET {sets} WHERE seq = ?", [*values.values(), row["seq"]])
            append_line(connection, {"kind": "measured", "seq": row["seq"], "round": round, **values})

    def decide(self, action: Action, client: Any, *, why: str = "", by: str = "operator") -> dict[str, Any]:
        """Ban a client, or pardon it; a running server follows in its next round."""
        if action not in ("ban", "pardon"):
            raise InputError(f"action must be 'ban' or 'pardon'; got {action!r}")
        with self._writing() as connection:
            number, at = number_of(connection, client), time.time()
            last = reading.last_round(connection)
            row = (at, last, number, action, printable(by), printable(why, limit=1000))
            cursor = connection.execute(
                "INSERT INTO decisions (at, round, client, action, by, why) VALUES (?, ?, ?, ?, ?, ?)", row
            )
            connection.execute("UPDATE clients SET decided = ? WHERE number = ?", (action, number))
            connection.execute(
                "UPDATE requests SET answered = ? WHERE client = ? AND answered IS NULL", (action, number)
            )
            told = {"decision": cursor.lastrowid, "at": at, "round": last, "client": named(client)}
            line = {**told, "action": action, "by": row[4], "why": row[5]}
            append_line(connection, {"kind": "decision", **line})
        return line

    def ask(self, questions: Mapping[Any, str], *, round: int, deadline: float) -> None:
        """Put questions about clients to the operator, all at once; `decide` answers them.

        A question about a client that is open already gets the new deadline.
        """
        with self._writing() as connection:
            for client, question in questions.items():
                number, text = number_of(connection, client, round), printable(question, limit=1000)
                again = "UPDATE requests SET round = ?, deadline = ? WHERE client = ? AND answered IS NULL"
                if connection.execute(again, (round, deadline, number)).rowcount:
                    continue
                row = {"at": time.time(), "round": round, "question": text, "deadline": deadline}
                insert_row(connection, "requests", {**row, "client": number})
                append_line(connection, {"kind": "request", **row, "client": named(client)})

    def note(self, **facts: Any) -> None:
        """Keep facts about the federation as a whole, such as why it stopped."""
        with self._writing() as connection:
            keep_facts(connection, facts)
            if facts.get("stopped") is not None:
                close_requests(connection, "stop")  # nothing waits for an answer any more
            told = {key: printable(value, limit=1000) for key, value in facts.items()}
            append_line(connection, {"kind": "note", "at": time.time(), **told})

    def renew_ids(self, *, n_connected: int, n_known: int) -> None:
        """Note that clients have new ids: those known so far are former ones until they take part again.

        Args:
            n_connected: How many clients are connected now.
            n_known: How many of these the ledger knew before.
        """
        with self._writing() as connection:
            fact = reading.newest(connection) | {"n_connected": n_connected, "n_known": n_known}
            keep_facts(connection, {"new_ids": fact})
            append_line(connection, {"kind": "note", "at": time.time(), "new_ids": printable(fact)})

    def undo(self, *, after: int, why: str) -> list[int]:
        """Mark all rounds after this one as undone and return which. Nothing is deleted."""
        with self._writing() as connection:
            undone = undo_rounds(connection, after, printable(why, limit=1000))
            line = {"kind": "rewind", "at": time.time(), "after": after, "undoes": undone}
            append_line(connection, {**line, "why": printable(why, limit=1000)})
        return undone

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection within a transaction that comes to be as a whole, with its audit lines."""
        with self._lock:
            try:
                self._connection.execute("BEGIN IMMEDIATE")
                yield self._connection
                self._connection.execute("COMMIT")
            except BaseException as error:
                if self._connection.in_transaction:
                    self._connection.execute("ROLLBACK")
                if isinstance(error, sqlite3.Error):
                    raise DataError(f"{self.path} could not be written: {error}") from None
                raise
            try:
                flush(self._connection, self.path)
            except (OSError, sqlite3.Error) as error:
                log.error(
                    "the audit log of %s could not be written: %s. Its lines wait in the ledger, and the next"
                    " write carries them over",
                    self.path,
                    error,
                )

    # What is read

    @contextmanager
    def snapshot(self) -> Iterator[sqlite3.Connection]:
        """Yield the connection within a transaction in which all that is read is of one moment."""
        with self._lock:
            self._connection.execute("BEGIN")
            try:
                yield self._connection
            finally:
                self._connection.execute("ROLLBACK")

    def overview(self) -> dict[str, Any]:
        """Return what there is to say of the federation in a few numbers, and a banner in one word.

        The banner is "held" while a round waits for the operator, "stopped", "empty", "hearing", "expelled",
        "suspects" or "clear".
        """
        with self.snapshot() as connection:
            return reading.overview(connection)

    def rounds(self, since: int = 0, *, undone: bool = False) -> list[dict[str, Any]]:
        """Return the rounds after `since`, in order; with `undone` also those that no longer count."""
        with self.snapshot() as connection:
            return reading.rounds(connection, since, undone=undone)

    def clients(self) -> list[dict[str, Any]]:
        """Return how every client stands now, with what was last measured of it."""
        with self.snapshot() as connection:
            return reading.clients(connection)

    def client(self, id: Any) -> dict[str, Any]:
        """Return the same of one client, with its entries, standings and the decisions about it."""
        with self.snapshot() as connection:
            found = reading.client(connection, as_id(id))
        if found is None:
            raise InputError(f"no client {printable(id)} in {self.path}")
        return found

    def timeline(self, since: int = 0) -> dict[str, Any]:
        """Return, per client and round after `since`, one character for its standing and one for its fate."""
        with self.snapshot() as connection:
            return reading.timeline(connection, since)

    def map(self, round: int | None = None) -> dict[str, Any]:
        """Return the places of the clients after a round, the last one if none is named."""
        with self.snapshot() as connection:
            return reading.client_map(connection, round)

    def decisions(self) -> list[dict[str, Any]]:
        """Return all decisions of operators, in order."""
        with self.snapshot() as connection:
            return reading.decisions(connection)

    def requests(self) -> list[dict[str, Any]]:
        """Return the questions that were put to the operator, in order; `answered` is None if it is open."""
        with self.snapshot() as connection:
            return reading.requests(connection)

    def decided(self) -> dict[Any, tuple[str, str]]:
        """Return the last decision about each client that there is one about, and why: ("ban", "leaks")."""
        return {one["client"]: (one["action"], one["why"]) for one in self.decisions()}

    def is_banned(self, client: Any) -> bool:
        """Return whether a client has no say by the last decision about it; its id may be of any type.

        >>> import tempfile, uuid
        >>> with open_ledger(Path(tempfile.mkdtemp()) / "federation.db") as ledger:
        ...     _ = ledger.decide("ban", str(uuid.UUID(int=7)))
        ...     ledger.is_banned(uuid.UUID(int=7)), ledger.is_banned(uuid.UUID(int=8))
        (True, False)
        """
        with self.snapshot() as connection:
            return reading.decided(connection, as_id(client)) == "ban"

    def pardoned(self) -> frozenset[Name]:
        """Return whose say no watch takes, by the last decision about each: `pardoned` of `defend`."""
        return frozenset(client for client, (action, _) in self.decided().items() if action == "pardon")
