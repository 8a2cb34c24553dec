"""What a round has to say of itself: one dataclass for all rules, printable and JSON-able."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, fields
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.printable import printable

__all__ = ["Diagnostics", "Dropped", "agreement_by_tenths"]

FloatArray = NDArray[np.float64]

#: Clients of a group that are named in a sentence; the others are counted.
MOST_NAMED = 10


@dataclass(frozen=True)
class Dropped:
    """A client whose update was not used, and why: in words that may be the client's, and are made printable.

    >>> print(Dropped(7, "non-finite values"))
    client 7: non-finite values
    """

    client: Any
    reason: str
    heard: bool = False  # a watch heard it, and gave it no say

    def __post_init__(self) -> None:
        """Make the reason printable, wherever it comes from."""
        object.__setattr__(self, "reason", printable(self.reason, limit=280))

    def __str__(self) -> str:
        """Return one line for a log."""
        return f"client {printable(self.client, limit=1000)}: {self.reason}"


@dataclass(frozen=True, eq=False)
class Diagnostics:
    """What a rule did in a round, for the operator of a server. Print it, or store `as_dict()`.

    Arrays have one entry per aggregated client, in the order of `clients`. The last group is measured
    only for `defend(..., explain=True)`, which also measures what a rule of your own leaves out. Of such a
    rule, `kept_fraction` is the share of the coordinates that its update moves, and `trimmed_share` is known
    where that update is a trimmed mean or a median of the clients, masked or not; else it is None.

    Clients in `identical` and `unchanged` are compared before anything else, so expelled clients and those
    whose numbers cannot be used are among them.

    >>> print(Diagnostics(rule="mine", clients=(0, 1, 2), tolerates=1, covered=True, promise="it holds"))
    mine: 3 clients aggregated
      guarantee  if at most 1 of 3 clients is malicious, it holds; this does not exclude a backdoor
    """

    rule: str
    clients: tuple[Any, ...]  # ids of the clients that were aggregated, in row order
    dropped: tuple[Dropped, ...] = ()
    aggregated: bool = True  # False: the rule did not run, the update is zero, the model stays as it is
    notes: tuple[str, ...] = ()  # what an operator should know and would not notice
    identical: tuple[tuple[Any, ...], ...] = ()  # groups of clients that sent the same model, bit for bit
    unchanged: tuple[Any, ...] = ()  # clients that sent the global model as it was, or an update of zeros
    covered: bool | None = None  # whether the published guarantee covers this round; None: it has none
    tolerates: int | None = None  # how many malicious clients that guarantee allows in this round
    promise: str | None = None  # what it says of the update, if no more than these are malicious
    kept_fraction: float | None = None  # of the coordinates, by the rule's mask
    client_weights: FloatArray | None = None  # of each row in the update, where the rule is a weighted sum
    selected: NDArray[np.bool_] | None = None  # who has a say at all, where the rule selects

    norms: FloatArray | None = None  # length of each client's update
    cosines: FloatArray | None = None  # of each client's update with the aggregated one
    opposed_share: FloatArray | None = None  # of the coordinates: the client's sign against the majority's
    trimmed_share: FloatArray | None = None  # of the coordinates: the client's value was trimmed away
    consistency: NDArray[np.int64] | None = None  # [s] counts the coordinates with |sum of signs| = s

    @property
    def guarantee(self) -> str | None:
        """What the rule's published guarantee says of this round, in words; None where the rule has none.

        >>> print(Diagnostics(rule="median", clients=(0, 1), covered=False).guarantee)
        none in this round
        """
        if not self.covered:
            return None if self.covered is None else "none in this round"
        promise = self.promise or "its theorem applies"
        n_malicious, n = self.tolerates, len(self.clients)
        most = "" if n_malicious is None else f"if at most {n_malicious} of {_counted(n, 'client')} "
        most += "" if n_malicious is None else f"{'is' if n_malicious == 1 else 'are'} malicious, "
        return f"{most}{promise}; this does not exclude a backdoor"

    @property
    def attention(self) -> tuple[str, ...]:
        """Who sent the same as others, one sentence per group; two trainings never agree in every bit.

        >>> Diagnostics(rule="median", clients=(3, 4, 5), identical=((3, 5),), unchanged=(4,)).attention
        ('clients 3 and 5 sent the same model', 'client 4 sent the global model unchanged')
        """
        same = [f"{_listed(group)} sent the same model" for group in self.identical]
        still = [f"{_listed(self.unchanged)} sent the global model unchanged"] if self.unchanged else []
        return (*same, *still)

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain numbers, strings and lists, ready for json.dumps.

        >>> Diagnostics(rule="median", clients=(0,)).as_dict()["rule"]
        'median'
        """
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    def __str__(self) -> str:
        """Return a few lines and, where there is something to say per client, a table."""
        return "\n".join([*self._summary(), *self._client_table(), *self._agreement()])

    def _summary(self) -> Iterator[str]:
        who = _counted(len(self.clients), "client") if self.aggregated else "nothing"
        yield f"{self.rule}: {who} aggregated" + (f", {len(self.dropped)} dropped" if self.dropped else "")
        if not self.aggregated:
            yield "  NOT AGGREGATED: the update is zero and the model stays as it is"
        yield from (f"  dropped    {drop}" for drop in self.dropped)
        if self.kept_fraction is not None:
            yield f"  kept       {self.kept_fraction:.1%} of the coordinates"
        if self.guarantee is not None:
            yield f"  guarantee  {self.guarantee}"
        yield from (f"  note       {note}" for note in self.notes)
        yield from (f"  attention  {sentence}" for sentence in self.attention)

    def _client_table(self) -> Iterator[str]:
        columns = {
            "selected": (None if self.selected is None else np.where(self.selected, "yes", "no"), 8, ""),
            "weight": (self.client_weights, 8, ".4f"),
            "norm": (self.norms, 10, ".4g"),
            "cosine": (self.cosines, 8, ".3f"),
            "opposed": (self.opposed_share, 8, ".1%"),
            "trimmed": (self.trimmed_share, 8, ".1%"),
        }
        shown = {title: (v, width, spec) for title, (v, width, spec) in columns.items() if v is not None}
        if not shown:
            return
        names = [printable(client, limit=1000) for client in self.clients]
        label = max(6, *map(len, names))
        yield f"  {'client':>{label}}" + "".join(
            f"  {title:>{width}}" for title, (_, width, _) in shown.items()
        )
        for row, name in enumerate(names):
            cells = (f"  {format(values[row], spec):>{width}}" for values, width, spec in shown.values())
            yield f"  {name:>{label}}{''.join(cells)}"

    def _agreement(self) -> Iterator[str]:
        shares = agreement_by_tenths(() if self.consistency is None else self.consistency)
        if shares:
            yield "  agreement of signs, share of the coordinates:"
        for tenth, share in enumerate(shares):
            bar = "#" * round(40 * share)
            yield f"    {tenth / 10:.1f}-{(tenth + 1) / 10:.1f}  {share:6.1%}  {bar}".rstrip()


def agreement_by_tenths(counts: Sequence[int] | NDArray[np.int64]) -> list[float]:
    """Return the share of the coordinates in every tenth of |sum of signs| / n; nothing of no coordinates."""
    n = len(counts) - 1
    if not np.sum(counts):
        return []
    tenths = np.minimum(10 * np.arange(n + 1) // max(n, 1), 9)
    return [float(share) for share in np.bincount(tenths, weights=counts, minlength=10) / np.sum(counts)]


def _listed(clients: Sequence[Any]) -> str:
    """Return the first few clients by name, and how many more there are."""
    names = [printable(client) for client in clients[:MOST_NAMED]]
    more = len(clients) - len(names)
    last = f"{more} more" if more else names.pop()
    words = f"{', '.join(names)} and {last}" if names else last
    return f"client{'' if len(clients) == 1 else 's'} {words}"


def _counted(n: int, thing: str) -> str:
    return f"{n} {thing}{'' if n == 1 else 's'}"


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return _plain(value.tolist())
    if isinstance(value, float) and not math.isfinite(value):
        return None  # JSON has no infinity: the length of a row of 1e200, say
    if isinstance(value, Dropped):
        return {"client": _plain(value.client), "reason": value.reason}
    if isinstance(value, tuple | list):
        return [_plain(item) for item in value]
    return value if isinstance(value, str | int | float | bool | None) else str(value)
