"""What a page shows of a run's watch: its verdicts round by round, as far as they are stored."""

from collections.abc import Sequence
from typing import Any

from ..runs.results import Result

__all__ = ["watch_shown"]

#: A page carries at most about so many verdicts per run: of a longer one, every second round, or third, ...
MOST_VERDICTS = 20_000


def watch_shown(result: Result) -> dict[str, Any] | None:
    """Return the rounds of a run under a watch, as `stored_verdicts` has them; of a packed run, the last.

    Beside them is what is true: which of the clients attack. None if nobody watched.

    >>> from holdfast.lab import TASKS
    >>> from holdfast.lab.scenario import Run
    >>> watch_shown(Result(Run(TASKS["phishing"]).description)) is None
    True
    """
    watched = result.summary.watched
    if watched is None:
        return None
    rounds = [record["verdicts"] for record in result.records if "verdicts" in record]
    n_clients, malicious = result.description["task"]["n_clients"], {*result.summary.malicious}
    ids = watched["verdicts"]["clients"].get("client", [])
    return {
        "hearings": watched["hearings"],
        "rewinds": watched["rewinds"],
        "rounds": _thinned(rounds or [watched["verdicts"]]),
        "malicious": [client for client in ids if client % n_clients in malicious],  # new ids are beyond
    }


def _thinned(rounds: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the last round and, evenly spaced before it, as many as a page should carry."""
    n_verdicts = sum(len(said["clients"].get("client", [])) for said in rounds)
    step = -(-n_verdicts // MOST_VERDICTS) or 1
    return list(rounds[::-1][::step])[::-1]
