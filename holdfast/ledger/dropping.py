"""What was dropped, and why: read from a ledger over all its rounds."""

from typing import Any

from .opening import Ledger
from .reading import json_in

__all__ = ["dropped_replies"]


def dropped_replies(ledger: Ledger, *, since: int = 0, limit: int | None = None) -> list[dict[str, Any]]:
    """Return who had no say in the rounds after `since` that count, and why, in order; or the last ones.

    >>> import tempfile
    >>> from holdfast.ledger import ClientEntry, RoundEntry, open_ledger
    >>> eve = ClientEntry(client="eve", reason="holds NaN")
    >>> with open_ledger(f"{tempfile.mkdtemp()}/federation.db") as ledger:
    ...     _ = ledger.write(RoundEntry(round=1, rule="median()", clients=(eve,)))
    ...     dropped_replies(ledger)
    [{'round': 1, 'client': 'eve', 'reason': 'holds NaN', 'code': None}]
    """
    with ledger.snapshot() as connection:
        found = connection.execute(
            "SELECT round, clients.id AS client, reason, code FROM rounds JOIN entries USING (seq)"
            " JOIN clients ON clients.number = entries.client"
            " WHERE undone IS NULL AND round > ? AND reason IS NOT NULL"
            " ORDER BY rounds.seq DESC, entries.client DESC LIMIT ?",
            (since, -1 if limit is None else limit),
        ).fetchall()
    return [{**dict(row), "client": json_in(row["client"])} for row in reversed(found)]
