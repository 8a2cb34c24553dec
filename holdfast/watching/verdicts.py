"""What a watch says of each client, in words that an operator understands."""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any, Literal

from .._support.counting import counted
from .._support.printable import printable

__all__ = ["ACCUSED", "N_SEARCHED", "Standing", "Verdict", "Verdicts"]

#: A sentence about a group names so many of its clients.
MOST_NAMES = 20
#: Fewer clients are not searched for factions.
N_SEARCHED = 10

Standing = Literal["clear", "too early to tell", "suspected", "counts as one", "expelled"]
#: The standings of those against whom there is evidence, the most serious first.
ACCUSED: tuple[Standing, ...] = ("expelled", "counts as one", "suspected")


@dataclass(frozen=True)
class Verdict:
    """What is known of one client after a round.

    `false_alarm` is the chance that a training of honest clients alone shows as much evidence against
    anybody, as measured behind plain averaging.

    >>> print(Verdict("bob", "expelled", heard=4, false_alarm=0.002, faction=1, since=6))
    client bob: expelled since round 6, votes with faction 1 (heard 4 times, false alarm: 1 in 500)
    """

    client: Any
    standing: Standing
    heard: int  # how often it took part
    false_alarm: float = 1.0
    faction: int | None = None  # the number of the faction that it votes with, the strongest first
    since: int | None = None  # the round from which on the evidence was enough to expel it
    place: tuple[float, float] = (0.0, 0.0)  # on the map of clients: off the crowd, and within it

    def __str__(self) -> str:
        """Return one line for a log."""
        since = f" since round {self.since}" if self.since else ""
        with_whom = f", votes with faction {self.faction}" if self.faction else ""
        sure = f", false alarm: {_odds(self.false_alarm)}" if self.faction or self.since else ""
        times = "once" if self.heard == 1 else f"{self.heard} times"
        name = printable(self.client, limit=1000)
        return f"client {name}: {self.standing}{since}{with_whom} (heard {times}{sure})"


@dataclass(frozen=True)
class Verdicts:
    """The verdicts on all clients that were ever heard, after one round. Print it, or store `as_dict()`.

    >>> one = Verdict("bob", "suspected", heard=3, false_alarm=0.05, faction=1)
    >>> print(Verdicts(7, (one, Verdict("ann", "clear", heard=2))))
    round 7: 2 clients heard, 0 expelled, 1 suspected
      client bob: suspected, votes with faction 1 (heard 3 times, false alarm: 1 in 20)
    """

    round: int
    clients: tuple[Verdict, ...] = ()
    hearing: bool = False  # nothing is applied yet
    rewound: bool = False  # the model went back to its start
    shared: float = 0.0  # part of the clients' deviations that lies in directions they share

    def __iter__(self) -> Iterator[Verdict]:
        """Iterate over the clients' verdicts."""
        return iter(self.clients)

    def of(self, standing: Standing) -> tuple[Any, ...]:
        """Return the clients of this standing.

        >>> Verdicts(1, (Verdict("ann", "clear", heard=2),)).of("clear")
        ('ann',)
        """
        return tuple(verdict.client for verdict in self.clients if verdict.standing == standing)

    @property
    def named(self) -> tuple[Any, ...]:
        """The clients with enough evidence against them to be expelled, whether the watch expels or reports.

        >>> Verdicts(7, (Verdict("bob", "suspected", heard=3, since=6),)).named
        ('bob',)
        """
        return tuple(verdict.client for verdict in self.clients if verdict.since is not None)

    @property
    def changed(self) -> tuple[Verdict, ...]:
        """Those whom the watch named in this very round."""
        return tuple(verdict for verdict in self.clients if verdict.since == self.round)

    @property
    def blind(self) -> str:
        """Why the watch looks for nobody; empty if it does look, once the first rounds are over.

        >>> Verdicts(9, (Verdict("ann", "too early to tell", heard=9),)).blind
        'the watch looks for nobody: it has heard 1 client, and needs 10'
        """
        if len(self.clients) >= N_SEARCHED or any(one.standing != "too early to tell" for one in self):
            return ""
        heard = counted(len(self.clients), "client")
        return f"the watch looks for nobody: it has heard {heard}, and needs {N_SEARCHED}"

    def __str__(self) -> str:
        """Return a summary, and a line for each client that does not stand clear."""
        group = self.of("counts as one")
        counts = f"{len(self.of('expelled'))} expelled, {len(self.of('suspected'))} suspected"
        counts += f", {len(group)} count as one" if group else ""
        early = len(self.of("too early to tell"))
        summary = f"round {self.round}: {len(self.clients)} clients heard, {counts}"
        lines = [summary + (f", {early} too early to tell" if early else "")]
        if self.hearing:
            often = sum(one.heard for one in self.clients) / max(1, len(self.clients))
            lines.append(
                f"  hearing: nothing is applied yet; clients were heard {often:.1f} times on average"
            )
        if self.blind:
            lines.append(f"  {self.blind}")
        if self.rewound:
            lines.append("  the model went back to its start, from before those now expelled had a say")
        lines += [f"  {one}" for one in self.clients if one.standing in ACCUSED]
        lines += [f"  {self.group}"] if self.group else []
        return "\n".join(lines)

    @property
    def group(self) -> str:
        """The clients that count as one, and what the operator can do; empty if there are none.

        >>> alike = [Verdict(name, "counts as one", heard=5, since=4) for name in ("ann", "eve", "mal")]
        >>> print(Verdicts(7, tuple(alike)).group)
        clients ann, eve and mal send the same, and none certainly deviates further than honest clients do.
        One may be an honest client that the others copy. Together they count as one client. Ask them; exempt
        the one whose data these are
        """
        names = [printable(client, limit=1000) for client in self.of("counts as one")]
        if not names:
            return ""
        if len(names) > MOST_NAMES:
            names = [*names[:MOST_NAMES], f"{len(names) - MOST_NAMES} more"]
        who = " and ".join(filter(None, [", ".join(names[:-1]), names[-1]]))
        return (
            f"clients {who} send the same, and none certainly deviates further than honest clients do."
            " One may be an honest client that the others copy. Together they count as one client. Ask them;"
            " exempt the one whose data these are"
        )

    def as_dict(self) -> dict[str, Any]:
        """Return the same as plain values, ready for json.dumps."""
        return asdict(self)


def _odds(chance: float) -> str:
    """Return a small chance as people say it."""
    if chance >= 0.5:
        return "likely"
    return f"1 in {float(f'{1 / chance:.1g}'):,.0f}" + (" or less" if chance <= 0.001 else "")
