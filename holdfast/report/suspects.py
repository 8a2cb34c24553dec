"""Who looks guilty, in words: from what a watch said of the clients, or from one round alone."""

from collections.abc import Mapping, Sequence
from typing import Any

from .._support.counting import counted
from .._support.printable import printable
from ..core.diagnostics import Diagnostics
from ..watching import Verdicts
from ..watching.verdicts import N_SEARCHED

__all__ = ["ALL_UNWATCHED", "attention_in_round", "suspects_in_round", "suspects_in_runs", "unusable_in"]

Document = Mapping[str, Any]

#: So many clients are named; the others are counted.
MOST_NAMED = 10
LONGEST = 80  # characters of a name
#: An update that is so many times as long as the median one stands out.
LONG = 5.0

UNWATCHED = (
    "Nobody is accused: this defence does not remember its clients, so it cannot tell who votes together."
)
ALL_UNWATCHED = (
    "Nobody is accused: none of these defences remembers its clients, so none can tell who votes together."
)


def suspects_in_runs(runs: Sequence[Document]) -> str:
    """Return whom the watch of these runs accused, one run per seed, beside what is true in the laboratory.

    >>> suspects_in_runs([{"series": {}}]).startswith("Nobody is accused: ")
    True
    """
    watched = [run for run in runs if run.get("watch")]
    if not watched:
        return UNWATCHED
    if len(watched) == 1:
        n_heard = len(watched[0]["watch"]["hearings"])
        listened = (
            f" During its hearing, the first {counted(n_heard, 'round')}, the model stayed as it was."
            if n_heard
            else ""
        )
        return f"The watch accused {_found(watched[0])}.{listened}"
    n_found, n_true = (sum(own) for own in zip(*map(_counts, watched), strict=True))
    wronged = sum(run["series"]["n_wronged"][-1] or 0 for run in watched)
    return (
        f"In {len(watched)} seeds, the watch accused {n_found} of {n_true} attackers that took part, and"
        f" {_counted(wronged, 'honest client')}."
    )


def suspects_in_round(diagnostics: Document, verdicts: Verdicts | None) -> str:
    """Return who stands out in one round: whom the watch names, and whose update is far too long.

    Those whose files cannot be used are counted. They are named elsewhere, and a mistake is no attack.

    >>> drops = [{"client": "eve", "reason": "holds NaN"}]
    >>> suspects_in_round({"clients": ["ann"], "dropped": drops, "norms": None}, None)
    'Nobody stands out; a single round says little. What 1 client sent could not be used.'
    """
    unusable = unusable_in(diagnostics)
    beside = f" What {counted(len(unusable), 'client')} sent could not be used." if unusable else ""
    words = []
    if verdicts is not None:
        named = {one.client: one.since for one in verdicts if one.since is not None}
        suspected = [str(one) for one in verdicts.of("suspected") if one not in named]
        words += [f"{_name(client)} (accused since round {since})" for client, since in named.items()]
        words += [f"{_name(client)} (suspected)" for client in suspected]
    words += _long_ones(diagnostics)
    if words:
        told = f"{_some(words)}." + (" One round accuses nobody else." if verdicts is None else "")
    else:
        told = _why_nobody(diagnostics, verdicts)
    return told + beside


def attention_in_round(diagnostics: Document) -> str:
    """Return who sent the same as others; empty if nobody did.

    >>> attention_in_round({"identical": [["ann", "bob"]]})
    'Clients ann and bob sent the same model: one sender under several names, or a copy by mistake.'
    """
    copies = Diagnostics("", (), identical=diagnostics.get("identical", ())).attention
    untrained = Diagnostics("", (), unchanged=diagnostics.get("unchanged", ())).attention
    sentences = [f"{one}: one sender under several names, or a copy by mistake." for one in copies]
    sentences += [f"{one}: untrained, or the wrong file." for one in untrained]
    return " ".join(f"{sentence[:1].upper()}{sentence[1:]}" for sentence in sentences)


def _why_nobody(diagnostics: Document, verdicts: Verdicts | None) -> str:
    """Return why nobody is accused: a watch that has not looked yet says nothing in anybody's favour."""
    nobody = "Nobody else" if attention_in_round(diagnostics) else "Nobody"
    if verdicts is None:
        return (
            f"{nobody} stands out; a single round says little."
            if diagnostics["clients"]
            else "Too early to say: no update was aggregated."
        )
    n_heard = len(verdicts.clients)
    if n_heard < N_SEARCHED:
        return f"The watch looks for nobody: {counted(n_heard, 'client')}, it needs {N_SEARCHED}."
    if verdicts.hearing or all(one.standing == "too early to tell" for one in verdicts):
        return "Too early to say: the watch has yet to hear more of the clients."
    return f"{nobody}: no clients vote together more than chance allows."


def unusable_in(diagnostics: Document) -> list[Document]:
    """Return the clients that were dropped for what they sent."""
    decided = ("expelled ", "new: ", "suspected: ", "banned ")
    return [drop for drop in diagnostics["dropped"] if not drop["reason"].startswith(decided)]


def _long_ones(diagnostics: Document) -> list[str]:
    norms = [norm for norm in diagnostics["norms"] or () if norm is not None]
    if len(norms) < 3:
        return []
    usual = sorted(norms)[len(norms) // 2]
    pairs = zip(diagnostics["clients"], diagnostics["norms"], strict=True)
    return [
        f"{_name(client)} (its update is {norm / usual:.0f} times as long as the median)"
        for client, norm in pairs
        if norm is not None and usual > 0 and norm >= LONG * usual
    ]


def _counts(run: Document) -> tuple[int, int]:
    return len(_rounds_found(run)), len(run["watch"]["malicious"])


def _rounds_found(run: Document) -> dict[Any, int]:
    """Return [attacker] the round in which the watch found it, in the order in which it did."""
    said, attackers = run["watch"]["rounds"][-1]["clients"], {*run["watch"]["malicious"]}
    since = dict(zip(said.get("client", ()), said.get("since", ()), strict=False))
    found = {client: number for client, number in since.items() if number and client in attackers}
    return dict(sorted(found.items(), key=lambda one: one[1]))


def _found(run: Document) -> str:
    """Return whom the watch of one run found, since when, and how many wrongly."""
    found, n_true = _rounds_found(run), len(run["watch"]["malicious"])
    wronged = _wronged(run["series"]["n_wronged"])
    if not n_true:
        return wronged
    words = f"{len(found)} of the {n_true} attackers that took part"
    if found:
        first, last = min(found.values()), max(found.values())
        when = f"in round {first}" if first == last else f"the first in round {first}, the last in {last}"
        words += f" (clients {_some([*map(str, found)])}; {when})"
    return f"{words}, and {wronged}"


def _wronged(by_round: Sequence[int | None]) -> str:
    """Return how many honest clients are accused at the end, and how many were at times."""
    counts = [count or 0 for count in by_round] or [0]
    most, last = max(counts), counts[-1]
    if most == last:
        return _counted(last, "honest client")
    return f"{_counted(last, 'honest client')} at the end, {most} at times"


def _name(client: Any) -> str:
    return printable(client, limit=LONGEST)


def _counted(count: int, thing: str) -> str:
    return f"{count or 'no'} {thing}{'s' * (count > 1)}"


def _some(words: Sequence[str]) -> str:
    """Return the first few words, and how many more there are."""
    more = len(words) - MOST_NAMED
    return ", ".join(words[:MOST_NAMED]) + (f" and {more} more" if more > 0 else "")
