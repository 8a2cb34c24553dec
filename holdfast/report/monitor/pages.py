"""The page, live or of a finished run: one template, filled with the document as it is now."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..._support.atomic import write_whole
from ...errors import InputError
from ..kit import render
from .source import LedgerSource, UnreadableError

__all__ = ["monitor_page", "write_monitor_page"]

#: In the order in which they are put together; the last one starts.
SCRIPTS = (
    *("elements", "lines", "chart", "verdicts", "map"),
    *(
        f"monitor/{name}"
        for name in ("memory", "status", "banner", "rows", "strips", "client", "places", "series", "lists")
    ),
    *("monitor/follow", "monitor/start"),
)


def monitor_page(document: Mapping[str, Any], *, live: bool) -> str:
    """Return the page of a document; a live one asks the server it came from for what is new.

    >>> from .documents import empty_document
    >>> "No round has ended yet." in monitor_page(empty_document("federation.db"), live=True)
    True
    """
    return render(
        "monitor.html",
        data={**document, "live": live},
        scripts=SCRIPTS,
        styles=("style", "monitor"),
        asks="'self'" if live else "",
        live=live,
        document=document,
    )


def write_monitor_page(ledger: Path, out: Path) -> None:
    """Write the page of a ledger as it is now to one file that opens from disk."""
    source = LedgerSource(ledger)
    if source.tag() is None:
        raise InputError(
            f"no ledger at {ledger}: a server writes one with Robust(..., ledger={ledger.name!r})"
        )
    try:
        document = source.document()
    except UnreadableError as error:
        raise InputError(f"{ledger} cannot be read as a ledger: {error}") from error
    write_whole(out, monitor_page(document, live=False).encode())
