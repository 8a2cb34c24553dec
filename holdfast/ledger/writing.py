"""One round into the tables, within one transaction: the round, its clients, and how all stand then."""

import hashlib
import math
import sqlite3
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from .._support.ids import Name, named
from .._support.printable import printable
from ..watching import Verdict, Verdicts
from .chain import append_line
from .entries import RoundEntry, as_id, canonical, finite, plain

__all__ = [
    "COLUMNS",
    "MEASURED",
    "ROUND",
    "close_requests",
    "entries_digest",
    "insert_row",
    "keep_facts",
    "number_of",
    "undo_rounds",
    "verdicts_digest",
    "write_round",
]

#: What the audit log repeats of a round. What is measured of the model may come later, in a line of its own.
ROUND = (
    "round", "at", "rule", "watch", "aggregated", "hearing", "rewound", "n_asked", "n_used", "n_dropped",
    "kept_fraction", "tolerates", "shared", "model_before", "model_after", "seconds",
)  # fmt: skip
MEASURED = ("accuracy", "attack_success", "loss", "metrics")
#: What of a client's entry its digest is made of.
COLUMNS = (
    "asked", "used", "examples", "norm", "cosine", "trimmed", "opposed", "weight", "reason", "code",
    "duplicate_of",
)  # fmt: skip


def write_round(connection: sqlite3.Connection, entry: RoundEntry, *, at: float) -> str:
    """Write a round and its line of the audit log; return the line's hash. The caller has the transaction.

    The same round, and those after it, are marked as undone if they are there already.
    """
    undone = undo_rounds(connection, entry.round - 1, "the round was made again")
    seq = 1 + (connection.execute("SELECT max(seq) FROM rounds").fetchone()[0] or 0)
    verdicts = entry.verdicts
    told = [one.client for one in entry.clients] + [named(one.client) for one in verdicts or ()]
    numbers = _numbers(connection, told, entry.round)
    rows = _entry_rows(seq, entry, numbers)
    connection.executemany(f"INSERT INTO entries VALUES ({', '.join('?' * 13)})", rows)
    n_used = sum(row[3] for row in rows)
    values = {
        "round": entry.round,
        "at": at,
        "rule": printable(entry.rule, limit=1000),
        "watch": None if entry.watch is None else printable(entry.watch, limit=1000),
        "aggregated": int(entry.aggregated),
        "hearing": int(entry.hearing),
        "rewound": int(entry.rewound),
        "n_asked": sum(row[2] for row in rows),
        "n_used": n_used,
        "n_dropped": sum(_is_dropped(row) for row in rows),
        "kept_fraction": finite(entry.kept_fraction),
        "tolerates": None if entry.tolerates is None else int(entry.tolerates),  # maybe one of NumPy
        "shared": None if verdicts is None else finite(verdicts.shared),
        "model_before": entry.model_before,
        "model_after": entry.model_after,
        "seconds": finite(entry.seconds),
    }
    rest = {
        "seq": seq,
        **{name: finite(getattr(entry, name)) for name in ("accuracy", "attack_success", "loss")},
        "metrics": canonical({printable(key): plain(value) for key, value in entry.metrics.items()}),
        "notes": canonical([printable(note, limit=1000) for note in entry.notes]),
    }
    insert_row(connection, "rounds", values | rest)
    connection.executemany(
        "UPDATE clients SET last_seq = ?, n_used = n_used + ?, n_dropped = n_dropped + ? WHERE number = ?",
        [(seq, row[3], _is_dropped(row), row[1]) for row in rows],
    )
    changed = [] if verdicts is None else _write_standings(connection, seq, entry.round, verdicts, numbers)
    if verdicts is not None and verdicts.clients:
        _write_places(connection, seq, verdicts, numbers)
    line = {"kind": "round", "seq": seq, **values, "standings": changed, "notes": rest["notes"]}
    line |= {name: rest[name] for name in MEASURED}
    line |= {"entries": entries_digest(connection, seq), "verdicts": verdicts_digest(connection, seq)}
    line |= {"undoes": undone} if undone else {}
    return append_line(connection, line)


def insert_row(connection: sqlite3.Connection, table: str, row: Mapping[str, Any]) -> None:
    """Insert one row by the names of its columns."""
    names, marks = ", ".join(row), ", ".join("?" * len(row))
    connection.execute(f"INSERT INTO {table} ({names}) VALUES ({marks})", list(row.values()))


def number_of(connection: sqlite3.Connection, client: Any, round: int | None = None) -> int:
    """Return the number of a client, which it gets when it is first told of."""
    return _numbers(connection, [named(client)], round)[named(client)]


def close_requests(connection: sqlite3.Connection, why: str) -> None:
    """Say of all questions that are open why nobody waits for an answer any more."""
    connection.execute("UPDATE requests SET answered = ? WHERE answered IS NULL", (why,))


def keep_facts(connection: sqlite3.Connection, facts: Mapping[str, Any]) -> None:
    """Keep facts about the federation as a whole."""
    connection.executemany(
        "INSERT OR REPLACE INTO federation VALUES (?, ?)",
        [
            (key, canonical(value if isinstance(value, dict) else plain(value)))
            for key, value in facts.items()
        ],
    )


def entries_digest(connection: sqlite3.Connection, seq: int) -> str:
    """Return a digest of all that is written of a round's clients, as the database gives it back."""
    columns = ", ".join(f"entries.{name}" for name in COLUMNS[:-1])
    found = connection.execute(
        f"SELECT clients.id, {columns}, twin.id FROM entries JOIN clients ON clients.number = entries.client"
        " LEFT JOIN clients AS twin ON twin.number = entries.duplicate_of"
        " WHERE seq = ? ORDER BY entries.client",
        (seq,),
    )
    return hashlib.sha256(canonical([list(row) for row in found]).encode()).hexdigest()


def verdicts_digest(connection: sqlite3.Connection, seq: int) -> str:
    """Return a digest of what is new in the clients' standings after a round, and of the map."""
    found = connection.execute(
        "SELECT clients.id, standings.standing, standings.since, standings.faction, standings.false_alarm,"
        " standings.heard FROM standings JOIN clients ON clients.number = standings.client"
        " WHERE seq = ? ORDER BY client",
        (seq,),
    )
    place = connection.execute("SELECT clients, xy FROM places WHERE seq = ?", (seq,)).fetchone()
    seen = [] if place is None else [bytes(part).hex() for part in place]
    return hashlib.sha256(canonical([[list(row) for row in found], seen]).encode()).hexdigest()


def undo_rounds(connection: sqlite3.Connection, after: int, why: str) -> list[int]:
    """Mark all rounds after this one as undone, and return which; clients stand as they stood after it."""
    live = connection.execute(
        "SELECT seq, round FROM rounds WHERE round > ? AND undone IS NULL ORDER BY seq", (after,)
    ).fetchall()
    if live:
        connection.executemany("UPDATE rounds SET undone = ? WHERE seq = ?", [(why, row[0]) for row in live])
        _tell_again(connection)
    return [row[1] for row in live]


def _numbers(connection: sqlite3.Connection, clients: Iterable[Name], round: int | None) -> dict[Name, int]:
    """Return the numbers of clients; new ones get the next, and the round in which they came."""
    ids = {as_id(client): client for client in dict.fromkeys(clients)}
    known = dict(connection.execute("SELECT id, number FROM clients"))
    last = max(known.values(), default=0)
    new = {text: last + i for i, text in enumerate((text for text in ids if text not in known), start=1)}
    connection.executemany(
        "INSERT INTO clients (number, id, first_round) VALUES (?, ?, ?)",
        [(number, text, round) for text, number in new.items()],
    )
    numbers = known | new
    return {client: numbers[text] for text, client in ids.items()}


def _entry_rows(seq: int, entry: RoundEntry, numbers: Mapping[Name, int]) -> list[tuple[Any, ...]]:
    return [
        (
            seq,
            numbers[one.client],
            int(one.asked),
            int(one.used),
            *(
                finite(value)
                for value in (one.examples, one.norm, one.cosine, one.trimmed, one.opposed, one.weight)
            ),
            None if one.reason is None else printable(one.reason, limit=280),
            one.code,
            None if one.duplicate_of is None else numbers[one.duplicate_of],
        )
        for one in entry.clients
    ]


def _is_dropped(row: tuple[Any, ...]) -> int:
    """Return whether a client's update was not used; of one that was, a second message may have been."""
    return int(row[10] is not None and not row[3])


def _write_standings(
    connection: sqlite3.Connection, seq: int, round: int, verdicts: Verdicts, numbers: Mapping[Name, int]
) -> list[list[Any]]:
    """Keep how clients stand now, and a row of those for whom that is new; return these for the log."""
    before = {
        row[0]: row[1:]
        for row in connection.execute("SELECT number, standing, since, faction, false_alarm FROM clients")
    }
    now, changed, told = [], [], []
    for one in verdicts:
        number = numbers[named(one.client)]
        standing, since, faction, alarm = before[number]
        row = (one.standing, _since(one, verdicts, round, since), one.faction, finite(one.false_alarm))
        now.append((*row, one.heard, number))
        if row[:3] != (standing, since, faction) or _magnitude(row[3]) != _magnitude(alarm):
            changed.append((number, seq, *row, one.heard))
        if row[:2] != (standing, since) and not (standing is None and one.standing == "too early to tell"):
            told.append([named(one.client), *row[:3]])
    connection.executemany(
        "UPDATE clients SET standing = ?, since = ?, faction = ?, false_alarm = ?, heard = ?"
        " WHERE number = ?",
        now,
    )
    connection.executemany("INSERT INTO standings VALUES (?, ?, ?, ?, ?, ?, ?)", changed)
    return told


def _since(one: Verdict, verdicts: Verdicts, round: int, before: int | None) -> int | None:
    """Return since when a client is named, in rounds of the ledger; a watch counts only those it saw."""
    if one.since is None:
        return None
    if before is not None and one.since < verdicts.round:
        return before
    return one.since + round - verdicts.round


def _magnitude(chance: float | None) -> int | None:
    """Return a chance as it is told, in powers of ten: a change within one is not worth a row."""
    return None if chance is None else math.floor(math.log10(max(chance, 1e-12)))


def _write_places(
    connection: sqlite3.Connection, seq: int, verdicts: Verdicts, numbers: Mapping[Name, int]
) -> None:
    clients = np.array([numbers[named(one.client)] for one in verdicts], np.int32)
    places: Sequence[Any] = [one.place for one in verdicts]
    xy = np.nan_to_num(np.array(places, np.float32))
    connection.execute("INSERT INTO places VALUES (?, ?, ?)", (seq, clients.tobytes(), xy.tobytes()))


def _tell_again(connection: sqlite3.Connection) -> None:
    """Set what `clients` says of today from the rounds that still count."""
    connection.execute(
        "UPDATE clients SET last_seq = NULL, n_used = 0, n_dropped = 0, standing = NULL, since = NULL,"
        " faction = NULL, false_alarm = NULL, heard = NULL"
    )
    counts = connection.execute(
        "SELECT max(seq), sum(used), sum(entries.reason IS NOT NULL AND NOT used), client"
        " FROM entries JOIN rounds USING (seq) WHERE undone IS NULL GROUP BY client"
    ).fetchall()
    connection.executemany(
        "UPDATE clients SET last_seq = ?, n_used = ?, n_dropped = ? WHERE number = ?", counts
    )
    latest = connection.execute(
        "SELECT standing, since, faction, false_alarm, heard, client, max(seq) FROM standings JOIN rounds"
        " USING (seq) WHERE undone IS NULL GROUP BY client"
    ).fetchall()
    connection.executemany(
        "UPDATE clients SET standing = ?, since = ?, faction = ?, false_alarm = ?, heard = ?"
        " WHERE number = ?",
        [row[:6] for row in latest],
    )
