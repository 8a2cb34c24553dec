"""What a tracker gets of a round, by name: numbers, and the verdicts in words when they change."""

from collections.abc import Iterator, Mapping
from math import log10
from typing import Any, get_args

import numpy as np

from ...watching import Verdicts
from ...watching.verdicts import ACCUSED, Standing
from ..records import COLUMNS, OPTIONAL
from ..results import Result
from ..verdicts import restored_verdicts

__all__ = ["N_FOLLOWED", "STANDINGS", "Series"]

#: What is measured of each client of a round: the name of its series, and that in the diagnostics.
MEASURED = {
    "norm": "norms",
    "cosine": "cosines",
    "opposed_share": "opposed_share",
    "trimmed_share": "trimmed_share",
    "weight": "client_weights",
    "selected": "selected",
}
#: A client's standing as a number: 0 for clear, 4 for expelled.
STANDINGS = {standing: number for number, standing in enumerate(get_args(Standing))}
#: So many clients have series of their own: those drawn first, and beside them those suspected first.
N_FOLLOWED = 50

Number = tuple[str, float]


class Series:
    """The series of one run, round after round; it remembers whose they are, and what was said.

    >>> Series().suspects
    []
    """

    def __init__(self) -> None:
        """Begin with nobody."""
        self.drawn: list[Any] = []
        self.suspects: list[Any] = []
        self.said: Any = False, False, {}  # of the last verdicts

    def of_round(self, result: Result, number: int) -> tuple[dict[str, float], str | None]:
        """Return the numbers of a round, without those that are not measured, and a note if there is news."""
        columns = {name: result.series(name)[number - 1] for name in (*COLUMNS, *OPTIONAL)}
        numbers = {name: float(value) for name, value in columns.items() if value is not None}
        if not result.records:  # it is packed
            return numbers, None
        record = result.records[number - 1]
        self._follow(self.drawn, record["clients"])
        if "verdicts" not in record:
            return numbers | dict(self._of_clients(record)), None
        verdicts = restored_verdicts(record["verdicts"])
        self._follow(self.suspects, [client for standing in ACCUSED for client in verdicts.of(standing)])
        return numbers | dict(self._of_clients(record)) | dict(self._of_watch(verdicts)), self._note(verdicts)

    def _follow(self, followed: list[Any], clients: Any) -> None:
        new = [client for client in clients if client not in followed]
        followed += new[: N_FOLLOWED - len(followed)]

    def _of_clients(self, record: Mapping[str, Any]) -> Iterator[Number]:
        """Yield what is measured of a round's clients: the spread over all, and each that is followed."""
        seen = record["diagnostics"]
        for name, stored in MEASURED.items():
            values = dict(zip(seen["clients"], seen[stored] or (), strict=False))
            known = [float(value) for value in values.values() if value is not None]
            if known and name != "selected":
                yield f"spread/{name}/min", min(known)
                yield f"spread/{name}/median", float(np.median(known))
                yield f"spread/{name}/max", max(known)
            for client in {*self.drawn, *self.suspects} & values.keys():
                if values[client] is not None:
                    yield f"clients/{client}/{name}", float(values[client])
        for client in {*self.drawn, *self.suspects}.intersection(record["clients"]):
            yield f"clients/{client}/attacks", float(client in record["attackers"])

    def _of_watch(self, verdicts: Verdicts) -> Iterator[Number]:
        """Yield what a watch says: how many stand where, and how each client stands that is followed."""
        yield "watch/suspected", float(len(verdicts.of("suspected")))
        yield "watch/counts_as_one", float(len(verdicts.of("counts as one")))
        yield "watch/expelled", float(len(verdicts.of("expelled")))
        yield "watch/too_early", float(len(verdicts.of("too early to tell")))
        yield "watch/hearing", float(verdicts.hearing)
        yield "watch/rewound", float(verdicts.rewound)
        yield "watch/shared", verdicts.shared
        followed = {*self.drawn, *self.suspects}
        for one in verdicts:
            if one.client in followed:
                yield f"clients/{one.client}/standing", float(STANDINGS[one.standing])
                yield f"clients/{one.client}/evidence", -log10(max(one.false_alarm, 1e-12))

    def _note(self, verdicts: Verdicts) -> str | None:
        """Return the verdicts in words if somebody's standing changed, or what is done about it."""
        named = {one.client: one.standing for one in verdicts if STANDINGS[one.standing] >= 2}
        before, self.said = self.said, (verdicts.hearing, verdicts.rewound, named)
        return str(verdicts) if self.said != before else None
