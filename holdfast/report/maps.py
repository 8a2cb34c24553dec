"""The map of clients: what a watch says of each, round by round, as a page to open."""

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from ..errors import InputError
from ..runs.verdicts import stored_verdicts
from ..watching import Verdict, Verdicts
from .kit import render

__all__ = ["drawn_watch", "map_of_clients", "verdicts_in"]


def map_of_clients(verdicts: Verdicts | Iterable[Verdicts], *, malicious: Collection[Any] = ()) -> str:
    """Return a page (HTML) with the map of clients and a timeline, from what a watch said of them.

    Pass `result.verdicts` of one round, or those of all rounds, in order: then the map can be played. Where
    it is known who is `malicious`, as in a laboratory, these clients are marked.

    >>> from holdfast.watching import Verdict, Verdicts
    >>> ann = Verdict("ann", "clear", heard=2, place=(0.4, -1.0))
    >>> bob = Verdict("bob", "expelled", heard=3, faction=1, since=6, place=(8.5, 0.2))
    >>> page = map_of_clients([Verdicts(7, (ann, bob))])
    >>> "round 7: 2 clients heard, 1 expelled, 0 suspected" in page
    True
    """
    rounds = [verdicts] if isinstance(verdicts, Verdicts) else list(verdicts or ())
    if not rounds or not all(isinstance(one, Verdicts) for one in rounds):
        raise InputError(
            "a map needs verdicts: those of defend(..., watch=factions()) in one round, or a list of them;"
            f" got {verdicts!r:.80}"
        )
    watch = drawn_watch(rounds, malicious=malicious)
    return render("map.html", data={"watch": watch}, verdicts=rounds[-1])


def drawn_watch(rounds: Iterable[Verdicts], *, malicious: Collection[Any] = ()) -> dict[str, Any]:
    """Return what the scripts of a page draw of verdicts, round by round."""
    rounds = list(rounds)
    return {
        "hearings": [one.round for one in rounds if one.hearing],
        "rewinds": [one.round for one in rounds if one.rewound],
        "rounds": [stored_verdicts(one) for one in rounds],
        "malicious": [str(client) for client in malicious],
    }


def verdicts_in(document: Mapping[str, Any]) -> Verdicts | None:
    """Return the verdicts that the document of a round has, as `Verdicts.as_dict` wrote them, if any.

    >>> said = Verdicts(3, (Verdict("ann", "clear", heard=2),))
    >>> verdicts_in({"verdicts": said.as_dict()}) == said
    True
    """
    said = document.get("verdicts")
    return said and Verdicts(**{**said, "clients": tuple(Verdict(**one) for one in said["clients"])})
