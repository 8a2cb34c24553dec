"""What an operator should read after a round: one line of a good one, and who stands apart from others."""

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._support.printable import printable
from ..watching.verdicts import ACCUSED
from .entries import RoundEntry

__all__ = ["MEASURES", "Lookout", "remarks_on", "standing_apart", "summary_line"]

#: By what a client may stand apart from the others: the words for the log, and those beside its standing.
MEASURES = {
    "norm": ("sent an update of length {}, others {}-{}", "long updates"),
    "trimmed": ("trimmed in {} of coordinates, others {}-{}", "trimmed more than others"),
    "opposed": ("opposed to the majority in {} of coordinates, others {}-{}", "opposed more than others"),
}

#: A client stands apart if its share is so much above the median, or so many times their usual distance.
APART, TIMES_USUAL = 0.1, 5.0
#: And if its update is so many times as long as the median one.
TIMES_LONGER = 4.0
#: Below this share of the coordinates, a mask lets the model hardly move.
LEAST_KEPT = 0.02
#: Fewer clients than these are no crowd to stand apart from.
N_CROWD = 5


def summary_line(
    entry: RoundEntry, *, audit: str = "", noun: str = "client", former: Collection[Any] = ()
) -> str:
    """Return one line on a round. Verdicts on `former` clients, whose ids have not come back, do not count.

    >>> summary_line(RoundEntry(round=3, rule="invariant()", kept_fraction=0.384), audit="3fa9c1a0b0d1ff")
    'round 3: 0 of 0 clients used, kept 38 % of coordinates, audit 3fa9c1a0b0d1'
    """
    used = sum(one.used for one in entry.clients)
    dropped = sum(one.reason is not None for one in entry.clients)
    asked = f"{sum(one.asked for one in entry.clients)} {noun}s"
    parts = [f"{used} of {asked} used"]
    if entry.hearing:
        parts = [f"a hearing, {asked} asked, nothing is applied"]
    elif entry.rewound:
        parts = ["the model went back to its start"]
    elif not entry.aggregated:
        parts.append("NOT AGGREGATED")
    if dropped:
        parts.append(f"{dropped} dropped")
    if entry.kept_fraction is not None:
        parts.append(f"kept {_percent(entry.kept_fraction)} of coordinates")
    standings = [one.standing for one in entry.verdicts or () if one.client not in former]
    parts += [f"{standings.count(one)} {one}" for one in reversed(ACCUSED) if one in standings]
    if entry.model_after:
        parts.append(f"model {entry.model_after[:12]}")
    return f"round {entry.round}: " + ", ".join([*parts, *([f"audit {audit[:12]}"] if audit else [])])


@dataclass
class Lookout:
    """Looks at round after round, and says what stands out; it remembers for how long already.

    >>> from holdfast.ledger import ClientEntry
    >>> shares = {11: 0.59, 12: 0.61, 13: 0.6, 14: 0.63, 15: 0.62, 2651: 0.87}
    >>> clients = tuple(ClientEntry(client=one, used=True, trimmed=share) for one, share in shares.items())
    >>> lookout = Lookout(noun="node")
    >>> for number in (1, 2, 3):
    ...     lines = lookout.warnings(RoundEntry(round=number, rule="invariant()", clients=clients))
    >>> lines
    ['round 3: node 2651 trimmed in 87 % of coordinates, others 59-63 %, 3 rounds in a row']
    """

    noun: str = "client"
    streaks: dict[tuple[str, Any], int] = field(default_factory=dict)  # [measure, client] in rounds it was in
    n_low: int = 0  # rounds in a row in which hardly anything was kept

    def warnings(self, entry: RoundEntry) -> list[str]:
        """Return what stands out in this round, each once it has for two rounds in a row."""
        return [f"round {entry.round}: {line}" for line in (*self._apart(entry), *self._kept(entry))]

    def _apart(self, entry: RoundEntry) -> Iterator[str]:
        used = [one for one in entry.clients if one.used]
        for measure, (words, _) in MEASURES.items():
            values = {one.client: getattr(one, measure) for one in used if getattr(one, measure) is not None}
            apart = standing_apart(values, measure)
            others = [value for client, value in values.items() if client not in apart]
            for client, value in values.items():
                if client not in apart:
                    self.streaks.pop((measure, client), None)
                    continue
                n = self.streaks[measure, client] = self.streaks.get((measure, client), 0) + 1
                if _is_told(n):
                    low, high = min(others), max(others)
                    shown = (_percent(value), f"{100 * low:.0f}", _percent(high))
                    if measure == "norm":
                        shown = (f"{value:.3g}", f"{low:.3g}", f"{high:.3g}")
                    yield f"{self.noun} {printable(client)} {words.format(*shown)}, {n} rounds in a row"

    def _kept(self, entry: RoundEntry) -> Iterator[str]:
        if entry.kept_fraction is None or entry.kept_fraction >= LEAST_KEPT:
            self.n_low = 0
            return
        self.n_low += 1
        if self.n_low == 1 or _is_told(self.n_low):
            yield (
                f"the mask kept {entry.kept_fraction:.2%} of coordinates: the model hardly moves;"
                " lower tau, or take more clients per round"
            )


def remarks_on(client: Mapping[str, Any]) -> list[str]:
    """Return what to know of a client beside its standing, which is the watch's alone; the surest first.

    Args:
        client: A client as `Ledger.clients` returns it.

    >>> remarks_on({"apart": {"norm": 7}, "norm": 12.9, "same_as": "bob"})
    ['sent the same as client bob', 'long updates in its last 7 rounds']
    """
    remarks = []
    if client["norm"] == 0:
        remarks.append("sent the global model unchanged")
    elif client["same_as"] is not None:
        remarks.append(f"sent the same as client {printable(client['same_as'])}")
    streaks = [f"{MEASURES[measure][1]} in its last {n} rounds" for measure, n in client["apart"].items()]
    return remarks + streaks[:1]  # who sends long updates is trimmed for it, too


def standing_apart(values: Mapping[Any, float], measure: str) -> set[Any]:
    """Return the clients whose value is far above the others'; nobody if those are half of all.

    >>> standing_apart({"ann": 1.0, "bob": 1.2, "cat": 0.9, "dan": 1.1, "eve": 9.0}, "norm")
    {'eve'}
    """
    if len(values) < N_CROWD:
        return set()
    numbers = np.array(list(values.values()))
    middle = float(np.median(numbers))
    usual = float(np.median(np.abs(numbers - middle)))
    limit = TIMES_LONGER * middle if measure == "norm" else middle + max(APART, TIMES_USUAL * usual)
    return {client for client, value in values.items() if value > limit}


def _is_told(n: int) -> bool:
    """Return whether a streak of so many rounds is worth a line: not each of them forever."""
    return n in (2, 3) or (n > 3 and n % 5 == 0)


def _percent(share: float) -> str:
    return f"{100 * share:.0f} %"
