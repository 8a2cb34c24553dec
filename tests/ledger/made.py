"""Rounds for the tests: three honest clients, and eve, who is expelled in round 3."""

import numpy as np

from holdfast.core.diagnostics import Diagnostics, Dropped
from holdfast.ledger import entry_of
from holdfast.watching import Verdict, Verdicts

CLIENTS = (7, "7", "bob", "eve")


def round_entry(number, *, expelled_in=3, watch_round=None, **facts):
    """Return what is to be written of a round."""
    gone = number >= expelled_in
    clients = CLIENTS[:3] if gone else CLIENTS
    size = len(clients)
    said = Diagnostics(
        rule="median",
        clients=clients,
        dropped=(Dropped("eve", f"expelled since round {expelled_in}"),) if gone else (),
        kept_fraction=0.5,
        tolerates=1,
        norms=np.arange(size) + 1.0,
        cosines=np.linspace(0.1, 0.9, size),
        trimmed_share=np.full(size, 0.25),
        opposed_share=np.full(size, 0.125),
    )
    seen = number if watch_round is None else watch_round
    standing = {
        "standing": "expelled",
        "since": seen - number + expelled_in,
        "faction": 1,
        "false_alarm": 0.002,
    }
    verdicts = Verdicts(
        seen,
        (
            *(Verdict(client, "clear", heard=number, place=(0.0, 0.5)) for client in CLIENTS[:3]),
            Verdict("eve", heard=number, place=(2.0, -1.0), **(standing if gone else {"standing": "clear"})),
        ),
        shared=0.25,
    )
    given = {"rule": "median()", "examples": dict.fromkeys(CLIENTS, 50), "codes": {"eve": 13} if gone else {}}
    return entry_of(said, verdicts, round=number, **{**given, **facts})
