"""What there is to read in a ledger, as plain values that JSON can hold."""

import json
import sqlite3
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from .lines import MEASURES, remarks_on, standing_apart

__all__ = [
    "client",
    "client_map",
    "clients",
    "decided",
    "decisions",
    "facts_of",
    "json_in",
    "last_round",
    "newest",
    "overview",
    "requests",
    "round_of",
    "rounds",
    "timeline",
]

#: One character per standing: what a timeline is made of. "." is not known.
STANDINGS = {"too early to tell": "t", "clear": "c", "suspected": "s", "counts as one": "o", "expelled": "e"}
#: And what became of a client in a round: "." it was not asked.
FATES = {"used": "u", "dropped": "d", "heard": "h"}

#: A client stands apart once it did in so many of its rounds in a row; so many rounds are looked at for it.
N_APART, MOST_ROUNDS = 3, 100

#: Whether a client was known before clients got new ids, and has not taken part since.
FORMER = "(clients.number <= :client AND coalesce(clients.last_seq, 0) <= :seq)"
CLIENTS = f"""
SELECT clients.*, {FORMER} AS former, rounds.round AS last_round, examples, norm, cosine, trimmed, opposed,
    weight, reason, code, duplicate_of
FROM clients LEFT JOIN entries ON entries.seq = clients.last_seq AND entries.client = clients.number
LEFT JOIN rounds ON rounds.seq = clients.last_seq
"""
DECISIONS = """
SELECT decisions.number, at, round, clients.id AS client, action, by, why
FROM decisions LEFT JOIN clients ON clients.number = decisions.client
"""


def json_in(text: str) -> Any:
    """Return a value that is stored as JSON."""
    return json.loads(text)


def facts_of(connection: sqlite3.Connection) -> dict[str, Any]:
    """Return what is known of the federation as a whole."""
    found = connection.execute("SELECT key, value FROM federation WHERE key != 'audit_head'")
    return {row["key"]: json_in(row["value"]) for row in found}


def last_round(connection: sqlite3.Connection) -> int | None:
    """Return the last round that counts."""
    found: int | None = connection.execute("SELECT max(round) FROM rounds WHERE undone IS NULL").fetchone()[0]
    return found


def newest(connection: sqlite3.Connection) -> dict[str, Any]:
    """Return what tells clients and rounds known so far from those that come later."""
    seq, client = connection.execute(
        "SELECT (SELECT max(seq) FROM rounds), (SELECT max(number) FROM clients)"
    ).fetchone()
    return {"seq": seq or 0, "client": client or 0, "round": last_round(connection)}


def round_of(connection: sqlite3.Connection, round: int) -> sqlite3.Row | None:
    """Return the row of a round that counts."""
    found: sqlite3.Row | None = connection.execute(
        "SELECT * FROM rounds WHERE round = ? AND undone IS NULL", (round,)
    ).fetchone()
    return found


def overview(connection: sqlite3.Connection) -> dict[str, Any]:
    """Return what there is to say in a few numbers; of clients, those count that are not former ones."""
    number = last_round(connection)
    row = None if number is None else round_of(connection, number)
    facts = facts_of(connection)
    before, present = _before_new_ids(facts), f"FROM clients WHERE NOT {FORMER}"
    counts = dict(connection.execute(f"SELECT standing, count(*) {present} GROUP BY standing", before))
    n_clients, n_banned = connection.execute(
        f"SELECT count(*), coalesce(sum(decided = 'ban'), 0) {present}", before
    ).fetchone()
    (n_all,) = connection.execute("SELECT count(*) FROM clients").fetchone()
    n_rounds, n_dropped = connection.execute(
        "SELECT count(*), coalesce(sum(n_dropped), 0) FROM rounds WHERE undone IS NULL"
    ).fetchone()
    n_expelled, n_suspected = counts.get("expelled", 0), counts.get("suspected", 0)
    n_as_one = counts.get("counts as one", 0)
    n_open = connection.execute("SELECT count(*) FROM requests WHERE answered IS NULL").fetchone()[0]
    banners = {
        "held": n_open > 0,
        "stopped": facts.get("stopped") is not None,
        "empty": row is None,
        "expelled": n_expelled + n_as_one > 0,
        "suspects": n_suspected > 0,
        "hearing": row is not None and bool(row["hearing"]),
        "clear": True,
    }
    return {
        "federation": facts,
        "last": None if row is None else _round(row),
        "n_rounds": n_rounds,
        "n_clients": n_clients,
        "n_former": n_all - n_clients,
        "n_expelled": n_expelled,
        "n_as_one": n_as_one,
        "n_suspected": n_suspected,
        "n_banned": n_banned,
        "n_dropped": n_dropped,
        "n_open_requests": n_open,
        "banner": next(banner for banner, holds in banners.items() if holds),
    }


def rounds(connection: sqlite3.Connection, since: int, *, undone: bool) -> list[dict[str, Any]]:
    """Return the rounds after one, in order."""
    counting = "" if undone else " AND undone IS NULL"
    found = connection.execute(f"SELECT * FROM rounds WHERE round > ?{counting} ORDER BY seq", (since,))
    return [_round(row) for row in found]


def clients(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return how every client stands now."""
    ids, before = _ids(connection), _before_new_ids(facts_of(connection))
    rows = connection.execute(f"{CLIENTS} ORDER BY clients.number", before).fetchall()
    apart, copied = _apart(connection, rows), _copied(connection, "seq IN (SELECT last_seq FROM clients)")
    return [_client(row, ids, apart, copied) for row in rows]


def client(connection: sqlite3.Connection, id: str) -> dict[str, Any] | None:
    """Return all that is known of one client; None if there is none of this id."""
    named = _before_new_ids(facts_of(connection)) | {"id": id}
    row = connection.execute(f"{CLIENTS} WHERE clients.id = :id", named).fetchone()
    if row is None:
        return None
    ids, number = _ids(connection), row["number"]
    entries = connection.execute(
        "SELECT round, entries.* FROM rounds JOIN entries ON entries.seq = rounds.seq AND entries.client = ?"
        " WHERE undone IS NULL ORDER BY rounds.seq",
        (number,),
    ).fetchall()
    standings = connection.execute(
        "SELECT round, standings.* FROM standings JOIN rounds USING (seq)"
        " WHERE standings.client = ? AND undone IS NULL ORDER BY seq",
        (number,),
    ).fetchall()
    copied = _copied(connection, "duplicate_of = ?", number)
    return {
        **_client(row, ids, _apart(connection, [row]), copied),
        "entries": [_entry(entry, ids, copied) for entry in entries],
        "standings": [_without(one, "seq", "client") for one in standings],
        "decisions": [one for one in decisions(connection) if one["client"] == ids[number]],
    }


def decisions(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return all decisions, in order."""
    found = connection.execute(f"{DECISIONS} ORDER BY decisions.number")
    return [{**dict(row), "client": json_in(row["client"])} for row in found]


def decided(connection: sqlite3.Connection, id: str) -> str | None:
    """Return the last decision about a client, ban or pardon; None if there is none."""
    row = connection.execute("SELECT decided FROM clients WHERE id = ?", (id,)).fetchone()
    return None if row is None or row["decided"] is None else str(row["decided"])


def requests(connection: sqlite3.Connection) -> list[dict[str, Any]]:
    """Return all questions that were put to the operator, in order."""
    found = connection.execute(
        "SELECT requests.number, at, round, clients.id AS client, question, answered, deadline FROM requests"
        " JOIN clients ON clients.number = requests.client ORDER BY requests.number"
    )
    return [{**dict(row), "client": json_in(row["client"])} for row in found]


def timeline(connection: sqlite3.Connection, since: int) -> dict[str, Any]:
    """Return one character per client and round, for standings and for what became of it."""
    live = connection.execute(
        "SELECT seq, round FROM rounds WHERE undone IS NULL AND round > ? ORDER BY seq", (since,)
    ).fetchall()
    ids = _ids(connection)
    seqs = np.array([row["seq"] for row in live], np.int64)
    rows = {number: row for row, number in enumerate(ids)}
    fates = np.full((len(ids), len(live)), b".", "S1")
    if live:
        at, who, fate = _fates(connection, seqs, rows)
        fates[who, at] = fate
    standings = np.full((len(ids), len(live)), b".", "S1")
    changes = connection.execute(
        "SELECT client, seq, standing FROM standings JOIN rounds USING (seq)"
        " WHERE undone IS NULL ORDER BY seq"
    ).fetchall()
    for number, seq, standing in changes:  # each holds from its round on
        standings[rows[number], int(np.searchsorted(seqs, seq)) :] = STANDINGS[standing].encode()
    return {
        "rounds": [row["round"] for row in live],
        "clients": list(ids.values()),
        "standings": [line.tobytes().decode() for line in standings],
        "fates": [line.tobytes().decode() for line in fates],
        "legend": {"standings": STANDINGS, "fates": FATES},
    }


def client_map(connection: sqlite3.Connection, round: int | None) -> dict[str, Any]:
    """Return the places of the clients after a round, with how they stood then."""
    which = "max(round)" if round is None else "round"
    row = connection.execute(
        f"SELECT {which} AS round, seq, clients, xy FROM places JOIN rounds USING (seq) WHERE undone IS NULL"
        + ("" if round is None else " AND round = :round"),
        {"round": round},
    ).fetchone()
    if row is None or row["seq"] is None:
        return {"round": round, "clients": [], "x": [], "y": [], "standings": [], "factions": []}
    ids, numbers = _ids(connection), np.frombuffer(row["clients"], np.int32).tolist()
    stood = {
        one["client"]: one
        for one in connection.execute(
            "SELECT client, standing, faction, max(seq) FROM standings JOIN rounds USING (seq)"
            " WHERE undone IS NULL AND seq <= ? GROUP BY client",
            (row["seq"],),
        )
    }
    xy = np.frombuffer(row["xy"], np.float32).reshape(-1, 2).astype(np.float64).round(3)
    return {
        "round": row["round"],
        "clients": [ids[number] for number in numbers],
        "x": xy[:, 0].tolist(),
        "y": xy[:, 1].tolist(),
        "standings": [stood[number]["standing"] if number in stood else None for number in numbers],
        "factions": [stood[number]["faction"] if number in stood else None for number in numbers],
    }


def _fates(connection: sqlite3.Connection, seqs: Any, rows: dict[int, int]) -> tuple[Any, Any, Any]:
    """Return what became of clients: in which round, of which client, and the character for it."""
    cursor = connection.cursor()
    cursor.row_factory = None
    packed = np.fromiter(  # one number per entry: of 300,000 rows, the objects would take the time
        (
            row[0]
            for row in cursor.execute(
                "SELECT (seq << 32) | (client << 2) | (CASE WHEN used THEN 0 WHEN reason IS NOT NULL THEN 1"
                " ELSE 2 END) FROM entries WHERE seq >= ? AND (asked OR used)",
                (int(seqs[0]),),
            )
        ),
        np.int64,
    )
    seq, number = packed >> 32, (packed & 0xFFFFFFFF) >> 2
    at = np.minimum(np.searchsorted(seqs, seq), len(seqs) - 1)
    counts = seqs[at] == seq
    where = np.zeros(max(rows, default=0) + 1, np.int64)
    where[list(rows)] = list(rows.values())
    fate = np.array([b"u", b"d", b"h"])[packed & 3]
    return at[counts], where[number[counts]], fate[counts]


def _before_new_ids(facts: dict[str, Any]) -> dict[str, Any]:
    """Return the last client and the last row of rounds before clients got new ids; 0 if they never did."""
    return {"client": 0, "seq": 0, **(facts.get("new_ids") or {})}


def _ids(connection: sqlite3.Connection) -> dict[int, Any]:
    """Return the ids of all clients by their numbers."""
    return {
        row["number"]: json_in(row["id"])
        for row in connection.execute("SELECT number, id FROM clients ORDER BY number")
    }


def _round(row: sqlite3.Row) -> dict[str, Any]:
    flags = {name: bool(row[name]) for name in ("aggregated", "hearing", "rewound")}
    return {**dict(row), **flags, "metrics": json_in(row["metrics"]), "notes": json_in(row["notes"])}


def _apart(connection: sqlite3.Connection, rows: Sequence[sqlite3.Row]) -> dict[int, dict[str, int]]:
    """Return [client][measure] how many of its last rounds in a row a client stood apart, if enough.

    Rounds are read from the last one back until no client's streak goes on. Whoever is expelled or banned
    needs no remark, and would keep rounds being read.
    """
    open_to_remarks = [row for row in rows if row["standing"] != "expelled" and row["decided"] != "ban"]
    running = {
        measure: {row["number"] for row in open_to_remarks if row[measure] is not None}
        for measure in MEASURES
    }
    streaks: dict[int, dict[str, int]] = {}
    last = connection.execute(
        "SELECT seq FROM rounds WHERE undone IS NULL ORDER BY seq DESC LIMIT ?", (MOST_ROUNDS,)
    ).fetchall()
    for (seq,) in last:
        if not any(running.values()):
            break
        entries = connection.execute(
            f"SELECT client, {', '.join(MEASURES)} FROM entries WHERE seq = ? AND used", (seq,)
        ).fetchall()
        for measure, clients in running.items():
            values = {entry["client"]: entry[measure] for entry in entries if entry[measure] is not None}
            apart = standing_apart(values, measure)
            clients -= values.keys() - apart
            for client in clients & apart:
                counts = streaks.setdefault(client, {})
                counts[measure] = counts.get(measure, 0) + 1
    return {
        client: {measure: counts[measure] for measure in MEASURES if counts.get(measure, 0) >= N_APART}
        for client, counts in streaks.items()
    }


def _copied(connection: sqlite3.Connection, where: str, *given: int) -> dict[tuple[int, int], int]:
    """Return [round, client] the first client that sent the same after it."""
    found = connection.execute(
        "SELECT seq, duplicate_of, min(client) FROM entries"
        f" WHERE duplicate_of IS NOT NULL AND {where} GROUP BY seq, duplicate_of",
        given,
    )
    return {(seq, first): other for seq, first, other in found}


def _client(
    row: sqlite3.Row,
    ids: dict[int, Any],
    apart: Mapping[int, dict[str, int]],
    copied: Mapping[tuple[int, int], int],
) -> dict[str, Any]:
    found = {
        **_without(row, "number", "last_seq", "decided", "duplicate_of"),
        "id": ids[row["number"]],
        "banned": row["decided"] == "ban",
        "pardoned": row["decided"] == "pardon",
        "former": bool(row["former"]),
        **_twins(row, ids, copied.get((row["last_seq"], row["number"]))),
        "apart": apart.get(row["number"], {}),
    }
    return {**found, "remarks": remarks_on(found)}


def _entry(row: sqlite3.Row, ids: dict[int, Any], copied: Mapping[tuple[int, int], int]) -> dict[str, Any]:
    return {
        **_without(row, "seq", "client"),
        "asked": bool(row["asked"]),
        "used": bool(row["used"]),
        **_twins(row, ids, copied.get((row["seq"], row["client"]))),
    }


def _twins(row: sqlite3.Row, ids: dict[int, Any], copy: int | None) -> dict[str, Any]:
    """Return the first client that sent the same, and any other that did; None if there is none."""
    first = row["duplicate_of"]
    other = copy if first is None else first
    return {
        "duplicate_of": None if first is None else ids[first],
        "same_as": None if other is None else ids[other],
    }


def _without(row: sqlite3.Row, *names: str) -> dict[str, Any]:
    return {name: row[name] for name in row.keys() if name not in names}  # noqa: SIM118
