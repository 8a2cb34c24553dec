"""The tables of a ledger, and how an older file becomes a new one: one script per version, run in order."""

import sqlite3

from ..errors import DataError

__all__ = ["APPLICATION", "VERSION", "migrate"]

#: Written into the head of the file: a ledger is told from other databases by it.
APPLICATION = 0x484C4447

#: A row of `rounds` is one time that a round was made. A round that is made again, after a kill or a rewind,
#: has another row: nothing is deleted, and `undone` says why the first one no longer counts.
#: Of `clients`, everything after `first_round` is how the client stands now, told again from the rows below.
TABLES = """
CREATE TABLE federation(key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE rounds(
    seq INTEGER PRIMARY KEY, round INTEGER NOT NULL, at REAL NOT NULL, undone TEXT,
    rule TEXT NOT NULL, watch TEXT,
    aggregated INTEGER NOT NULL, hearing INTEGER NOT NULL, rewound INTEGER NOT NULL,
    n_asked INTEGER NOT NULL, n_used INTEGER NOT NULL, n_dropped INTEGER NOT NULL,
    kept_fraction REAL, tolerates INTEGER, shared REAL,
    model_before TEXT, model_after TEXT,
    seconds REAL, accuracy REAL, attack_success REAL, loss REAL,
    metrics TEXT NOT NULL, notes TEXT NOT NULL);
CREATE INDEX rounds_by_round ON rounds(round);
CREATE TABLE clients(
    number INTEGER PRIMARY KEY, id TEXT NOT NULL UNIQUE, first_round INTEGER,
    last_seq INTEGER, n_used INTEGER NOT NULL DEFAULT 0, n_dropped INTEGER NOT NULL DEFAULT 0,
    standing TEXT, since INTEGER, faction INTEGER, false_alarm REAL, heard INTEGER, decided TEXT);
CREATE TABLE entries(
    seq INTEGER NOT NULL, client INTEGER NOT NULL, asked INTEGER NOT NULL, used INTEGER NOT NULL,
    examples REAL, norm REAL, cosine REAL, trimmed REAL, opposed REAL, weight REAL,
    reason TEXT, code INTEGER, duplicate_of INTEGER,
    PRIMARY KEY (seq, client)) WITHOUT ROWID;
CREATE TABLE standings(
    client INTEGER NOT NULL, seq INTEGER NOT NULL,
    standing TEXT NOT NULL, since INTEGER, faction INTEGER, false_alarm REAL, heard INTEGER,
    PRIMARY KEY (client, seq)) WITHOUT ROWID;
CREATE TABLE places(seq INTEGER PRIMARY KEY, clients BLOB NOT NULL, xy BLOB NOT NULL);
CREATE TABLE decisions(
    number INTEGER PRIMARY KEY AUTOINCREMENT, at REAL NOT NULL, round INTEGER,
    client INTEGER, action TEXT NOT NULL, by TEXT NOT NULL, why TEXT NOT NULL);
CREATE TABLE outbox(number INTEGER PRIMARY KEY, line TEXT NOT NULL);
"""

#: Questions that the policy "ask" puts to the operator; `answered` is the decision that followed, or that the
#: training stopped, or started again, before there was one.
REQUESTS = """
CREATE TABLE requests(
    number INTEGER PRIMARY KEY, at REAL NOT NULL, round INTEGER NOT NULL, client INTEGER NOT NULL,
    question TEXT NOT NULL, answered TEXT, deadline REAL NOT NULL);
"""

#: Script n brings a ledger of version n to version n + 1. What was published is never changed, only added to.
MIGRATIONS = (TABLES, REQUESTS)
VERSION = len(MIGRATIONS)


def migrate(connection: sqlite3.Connection, *, path: object, to: int = VERSION) -> None:
    """Make the tables of a new file, or those that an older one lacks, all or nothing.

    >>> connection = sqlite3.connect(":memory:", isolation_level=None)
    >>> migrate(connection, path="example")
    >>> connection.execute("PRAGMA user_version").fetchone()[0] == VERSION
    True
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        version = checked_version(connection, path=path)
        for number in range(version, to):
            for statement in MIGRATIONS[number].split(";"):
                connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {number + 1}")
        connection.execute(f"PRAGMA application_id = {APPLICATION}")
        connection.execute("COMMIT")
    except BaseException:
        connection.execute("ROLLBACK")
        raise


def checked_version(connection: sqlite3.Connection, *, path: object) -> int:
    """Return the version of a ledger, 0 of an empty file; a DataError if it is something else, or newer."""
    version = int(connection.execute("PRAGMA user_version").fetchone()[0])
    own = connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION
    is_empty = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0] == 0
    if not own and not is_empty:
        raise DataError(f"{path} is a database, but no ledger of holdfast; name another file")
    if version > VERSION:
        raise DataError(
            f"{path} is a ledger of version {version}, and this holdfast knows {VERSION}: install a newer one"
        )
    return version
