"""The audit log: one line of JSON per round and per decision, each with the hash of the line before it.

A line is written into the database with what it tells of, in one transaction, and from there into the log.
A process that dies in between leaves the line in the outbox, and whoever writes next carries it over; half a
line at the end of the log is completed. Whoever edits, removes or inserts a line breaks the chain.
"""

import hashlib
import json
import os
import re
import sqlite3
from collections.abc import Mapping
from pathlib import Path
from typing import Any, BinaryIO

from .entries import canonical

__all__ = ["START", "append_line", "audit_files", "flush", "hash_of", "last_line"]

#: What stands in the place of the hash before the first line.
START = "0" * 64
#: A log that has grown to so many bytes is put aside, and the chain goes on in a new one.
MOST_BYTES = 64 * 2**20
CHUNK = 2**16


def audit_path(ledger: Path) -> Path:
    """Return where the log of a ledger is written.

    >>> audit_path(Path("federation.db")).name
    'federation.audit.jsonl'
    """
    return ledger.with_name(f"{ledger.stem}.audit.jsonl")


def audit_files(ledger: Path) -> list[Path]:
    """Return the files of the log, the oldest first; the one that is written last."""
    pattern = re.compile(re.escape(ledger.stem) + r"\.audit\.(\d+)\.jsonl")
    aside = {
        int(match[1]): path
        for path in ledger.parent.glob("*.jsonl")
        if (match := pattern.fullmatch(path.name))
    }
    current = audit_path(ledger)
    return [*(aside[number] for number in sorted(aside)), *([current] if current.exists() else [])]


def hash_of(fields: Mapping[str, Any]) -> str:
    """Return the hash of a line: over the hash before it, and its other fields in one spelling.

    >>> line = {"number": 1, "previous": START, "kind": "round"}
    >>> hash_of(line) == hash_of({**line, "hash": "anything"})
    True
    """
    content = {key: value for key, value in fields.items() if key not in ("previous", "hash")}
    return hashlib.sha256((str(fields["previous"]) + canonical(content)).encode()).hexdigest()


def append_line(connection: sqlite3.Connection, fields: Mapping[str, Any]) -> str:
    """Put a line into the outbox, within the caller's transaction, and return its hash."""
    number, previous = _head(connection)
    line = {"number": number + 1, "previous": previous, **fields}
    line["hash"] = hash_of(line)
    connection.execute("INSERT INTO outbox VALUES (?, ?)", (line["number"], canonical(line)))
    head = canonical([line["number"], line["hash"]])
    connection.execute("INSERT OR REPLACE INTO federation VALUES ('audit_head', ?)", (head,))
    return str(line["hash"])


def flush(connection: sqlite3.Connection, ledger: Path, *, most_bytes: int = MOST_BYTES) -> None:
    """Carry the lines of the outbox over into the log; an OSError leaves them where they are."""
    connection.execute("BEGIN IMMEDIATE")  # one process at a time
    try:
        waiting = connection.execute("SELECT number, line FROM outbox ORDER BY number").fetchall()
        if waiting:
            _write(ledger, waiting, most_bytes)
            connection.execute("DELETE FROM outbox WHERE number <= ?", (waiting[-1][0],))
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def last_line(ledger: Path) -> dict[str, Any] | None:
    """Return the last whole line of the log; None of an empty log, or if that line cannot be read."""
    for path in reversed(audit_files(ledger)):
        with path.open("rb") as file:
            _, whole, _ = _tail(file)
        if whole:
            try:
                found = json.loads(whole)
            except ValueError:
                return None
            return found if isinstance(found, dict) else None
    return None


def _head(connection: sqlite3.Connection) -> tuple[int, str]:
    found = connection.execute("SELECT value FROM federation WHERE key = 'audit_head'").fetchone()
    number, last = json.loads(found[0]) if found else (0, START)
    return int(number), str(last)


def _write(ledger: Path, waiting: list[tuple[int, str]], most_bytes: int) -> None:
    """Append the lines that the log does not have yet, and wait until they are on the disk."""
    path = audit_path(ledger)
    if path.exists() and path.stat().st_size >= most_bytes:
        _put_aside(path, ledger)
    last = last_line(ledger) or {}
    done = last["number"] if isinstance(last.get("number"), int) else 0
    new = b"".join(line.encode() + b"\n" for number, line in waiting if number > done)
    fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
    with open(fd, "r+b") as file:
        end, _, half = _tail(file)
        if new.startswith(half):  # what a killed process had written of it
            file.seek(end)
        else:  # not ours: it stays, and shows
            file.seek(0, os.SEEK_END)
            file.write(b"\n")
        file.truncate()
        file.write(new)
        file.flush()
        os.fsync(file.fileno())


def _put_aside(path: Path, ledger: Path) -> None:
    """Give a log that has grown long the next number, unless its last line is not whole yet."""
    with path.open("rb") as file:
        if _tail(file)[2]:
            return
    numbers = [int(one.name.rsplit(".", 2)[1]) for one in audit_files(ledger) if one != path]
    os.replace(path, ledger.with_name(f"{ledger.stem}.audit.{max(numbers, default=0) + 1}.jsonl"))


def _tail(file: BinaryIO) -> tuple[int, bytes, bytes]:
    """Return where the whole lines of a file end, the last of them, and what is left of half a line."""
    size = start = file.seek(0, os.SEEK_END)
    read = b""
    while start and read.count(b"\n") < 2:
        start = max(0, start - CHUNK)
        file.seek(start)
        read = file.read(size - start)
    lines, newline, half = read.rpartition(b"\n")
    return size - len(half), lines.rpartition(b"\n")[2] if newline else b"", half
