"""The file of a ledger, opened: made, migrated and cleared of what a killed process left."""

import os
import sqlite3
from pathlib import Path

from ..errors import DataError
from .chain import audit_files, flush
from .schema import VERSION, checked_version, migrate

__all__ = ["read_connection", "write_connection"]

#: Seconds to wait for another process that writes; a round's write takes milliseconds.
PATIENCE = 30.0


def write_connection(path: Path) -> sqlite3.Connection:
    """Return the file open for writing, made or migrated if need be; only its owner may read a new one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = sqlite3.connect(path, timeout=PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        connection.row_factory = sqlite3.Row
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # a round that was written survives a power cut
        logs = audit_files(path)  # first: whoever makes this ledger at the same time writes its log last
        version = checked_version(connection, path=path)
        if version == 0 and logs:
            raise DataError(
                f"{path} would be a new ledger, and {logs[-1].name} beside it is the log of another one:"
                " move that log away, or name another ledger"
            )
        if version < VERSION:
            migrate(connection, path=path)
        flush(connection, path)  # what a killed process left
    except BaseException:
        connection.close()
        raise
    return connection


def read_connection(path: Path) -> sqlite3.Connection:
    """Return the file open for reading; a folder that cannot be written is read as it lies there."""
    uri = path.resolve().as_uri()
    for mode in ("?mode=ro", "?mode=ro&immutable=1"):
        connection = sqlite3.connect(
            uri + mode, uri=True, timeout=PATIENCE, isolation_level=None, check_same_thread=False
        )
        connection.row_factory = sqlite3.Row
        try:
            version = checked_version(connection, path=path)
        except sqlite3.OperationalError:
            connection.close()
            if "immutable" in mode:
                raise
            continue
        except BaseException:
            connection.close()
            raise
        if version < VERSION:  # whoever only reads does not change it
            connection.close()
            write_connection(path).close()
            return read_connection(path)
        return connection
    raise AssertionError
