"""Whether a ledger is as it was written: the chain of its log, and the tables beside it."""

import json
import sqlite3
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from .._support.counting import counted
from .._support.printable import printable
from .chain import START, audit_files, hash_of
from .entries import as_id
from .opening import open_ledger
from .writing import MEASURED, ROUND, entries_digest, verdicts_digest

__all__ = ["Audit", "verify"]

#: So many problems are told of; after one, others follow from it.
MOST_PROBLEMS = 20


@dataclass(frozen=True)
class Audit:
    """What a look at the log and the tables found: nothing, or what was changed after it was written.

    >>> print(Audit(n_lines=3, head="ab" * 32, problems=("line 2 was changed",)))
    the audit log of 3 lines does NOT hold:
      line 2 was changed
    """

    n_lines: int
    head: str  # the hash of the last line. Keep it elsewhere: who can write all files can make a new chain
    problems: tuple[str, ...] = ()

    @property
    def holds(self) -> bool:
        """Whether nothing was found."""
        return not self.problems

    def __str__(self) -> str:
        """Return one line, and one per problem."""
        if self.holds:
            return f"the audit log of {counted(self.n_lines, 'line')} holds; its head is {self.head}"
        problems = "".join(f"\n  {problem}" for problem in self.problems)
        return f"the audit log of {counted(self.n_lines, 'line')} does NOT hold:{problems}"


@dataclass
class _Read:
    """What was read of the log so far."""

    n_lines: int = 0
    head: str = START
    number: int = 0
    is_expected: bool = False  # whether the hash that was kept elsewhere was met
    is_later: bool = False  # whether there were lines after those that the tables knew of
    rounds: dict[int, Mapping[str, Any]] = field(default_factory=dict)  # [seq]
    measured: dict[int, Mapping[str, Any]] = field(default_factory=dict)  # [seq] what was last said of it
    counting: dict[int, int] = field(default_factory=dict)  # [round] the seq of the row that counts
    decided: dict[int, Mapping[str, Any]] = field(default_factory=dict)  # [number of the decision]


def verify(path: str | Path, *, expect: str | None = None) -> Audit:
    """Return whether the log's chain holds and the tables say what it says.

    `expect` is a head that was kept elsewhere: it must be in the chain.

    >>> import tempfile
    >>> from holdfast.ledger import RoundEntry, open_ledger
    >>> path = Path(tempfile.mkdtemp()) / "federation.db"
    >>> with open_ledger(path) as ledger:
    ...     hash = ledger.write(RoundEntry(round=1, rule="median()"))
    >>> log = path.with_name("federation.audit.jsonl")
    >>> verify(path, expect=hash).holds
    True
    >>> _ = log.write_text(log.read_text().replace("median", "fedavg"))
    >>> print(verify(path).problems[0])
    line 1 was changed: its hash does not fit its content
    """
    ledger, read = Path(path), _Read(is_expected=expect is None)
    with open_ledger(ledger, read_only=True) as opened:
        with opened.snapshot() as connection:
            waiting = connection.execute("SELECT number, line FROM outbox ORDER BY number").fetchall()
            head = _head(connection)
            broken = [*_chain(_lines(ledger, waiting), read, expect, known=head[0])]
            problems = [*broken, *_tables(connection, read)]
        if read.number > head[0]:  # a training goes on meanwhile: what it wrote to the log, it knows of
            with opened.snapshot() as connection:
                head = _head(connection)
    is_known = [read.number, read.head] == head or (read.is_later and read.number < head[0])
    if not broken and not is_known:
        problems.append(f"the log ends with line {read.number}, and the database knows of {head[0]}")
    if not read.is_expected:
        problems.append(f"the head {printable(expect)} is not in the log: it was made anew, or is another's")
    return Audit(read.n_lines, read.head, tuple(problems[:MOST_PROBLEMS]))


def _head(connection: sqlite3.Connection) -> list[Any]:
    """Return number and hash of the last line that the database knows of."""
    found = connection.execute("SELECT value FROM federation WHERE key = 'audit_head'").fetchone()
    return list(json.loads(found[0])) if found else [0, START]


def _lines(ledger: Path, waiting: list[tuple[int, str]]) -> Iterator[bytes]:
    """Yield the lines of the log, then those that were not carried over yet."""
    whole = half = b""
    for path in audit_files(ledger):
        with path.open("rb") as file:
            for line in file:
                if line.endswith(b"\n"):
                    whole = line
                    yield line
                else:
                    half = line
    done = _number(whole)
    rest = [line.encode() for number, line in waiting if number > done]
    if half and not any(line.startswith(half) for line in rest):
        yield half
    yield from rest


def _number(line: bytes) -> int:
    try:
        return int(json.loads(line)["number"])
    except (ValueError, TypeError, KeyError):
        return 0


def _chain(lines: Iterator[bytes], read: _Read, expect: str | None, *, known: int) -> Iterator[str]:
    """Yield what is wrong with the lines themselves, and keep what those up to the `known` one say."""
    for raw in lines:
        read.n_lines += 1
        name = f"line {read.n_lines}"
        try:
            line = json.loads(raw)
            number, previous, own = int(line["number"]), str(line["previous"]), str(line["hash"])
            is_whole, follows = hash_of(line) == own, (previous, number) == (read.head, read.number + 1)
            if is_whole and follows and number > known:
                read.is_later = True
            else:
                _keep(line, read)
        except (ValueError, TypeError, KeyError, RecursionError):
            yield f"{name} cannot be read"
            continue
        if not is_whole:
            yield f"{name} was changed: its hash does not fit its content"
        elif not follows:
            yield f"{name} does not follow the line before it: lines were removed, inserted or moved"
        read.head, read.number = own, number
        read.is_expected |= own == expect


def _keep(line: Mapping[str, Any], read: _Read) -> None:
    """Keep what a line says of rounds and decisions, and which rounds still count after it."""
    kind, seq = line.get("kind"), line.get("seq")
    if kind in ("round", "begin", "rewind"):
        after = line["round"] - 1 if kind == "round" else line["after"]
        read.counting = {round: own for round, own in read.counting.items() if round <= after}
    if kind == "round" and isinstance(seq, int):
        read.rounds[seq], read.counting[line["round"]] = line, seq
    if kind in ("round", "measured") and isinstance(seq, int):
        told = {name: line[name] for name in MEASURED if name in line}
        read.measured[seq] = {**read.measured.get(seq, {}), **told}
    if kind == "decision":
        read.decided[int(line["decision"])] = line


def _tables(connection: sqlite3.Connection, read: _Read) -> Iterator[str]:
    """Yield where the tables say something else than the log."""
    seen, counting = set(), set(read.counting.values())
    for row in connection.execute("SELECT * FROM rounds ORDER BY seq").fetchall():
        told, name = read.rounds.get(row["seq"]), f"round {row['round']}"
        seen.add(row["seq"])
        if told is None:
            yield f"{name} is in the database, and not in the log"
            continue
        differing = [column for column in (*ROUND, "notes") if row[column] != told.get(column)]
        measured = read.measured[row["seq"]]
        differing += [column for column in MEASURED if row[column] != measured.get(column)]
        if (row["undone"] is None) != (row["seq"] in counting):
            differing.append("undone")
        if entries_digest(connection, row["seq"]) != told.get("entries"):
            differing.append("what it says of its clients")
        if verdicts_digest(connection, row["seq"]) != told.get("verdicts"):
            differing.append("its verdicts")
        if differing:
            yield f"{name} was changed in the database: {', '.join(differing)}"
    yield from (
        f"round {read.rounds[seq]['round']} is gone from the database" for seq in {*read.rounds} - seen
    )
    yield from _decisions(connection, read)
    for row in connection.execute(STANDINGS):
        yield f"client {printable(row['id'])} was changed in the database: how it stands now"


def _decisions(connection: sqlite3.Connection, read: _Read) -> Iterator[str]:
    """Yield which decisions the database tells otherwise, or not at all, and whose is not followed."""
    decided = {row["number"]: row for row in connection.execute(DECISIONS)}
    last = {}
    for number in sorted({*decided} | {*read.decided}):
        row, line = decided.get(number), read.decided.get(number)
        if row is None or line is None:
            where = "database" if row is None else "log"
            yield f"decision {number} is gone from the {where}"
            continue
        last[row["client"]] = line["action"]
        if row["client"] != as_id(line["client"]) or any(row[name] != line[name] for name in DECIDED):
            yield f"decision {number} was changed in the database"
    for row in connection.execute("SELECT id, decided FROM clients"):
        if row["decided"] != last.get(row["id"]):
            yield f"client {printable(row['id'])} was changed in the database: what is decided about it"


DECIDED = ("at", "round", "action", "by", "why")
DECISIONS = (
    "SELECT decisions.number, at, round, clients.id AS client, action, by, why FROM decisions"
    " LEFT JOIN clients ON clients.number = decisions.client"
)
#: Clients that stand otherwise today than after the last round that counts and says so.
STANDINGS = """
WITH latest AS (
    SELECT client, standing, since, faction, max(seq) FROM standings JOIN rounds USING (seq)
    WHERE undone IS NULL GROUP BY client)
SELECT id FROM clients LEFT JOIN latest ON latest.client = clients.number
WHERE clients.standing IS NOT latest.standing OR clients.since IS NOT latest.since
    OR clients.faction IS NOT latest.faction
"""
