"""What a federation comes to, in sentences that a newcomer understands, and what to type next."""

import math
import re
import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from ..._support.printable import printable
from ...watching.verdicts import ACCUSED, N_SEARCHED
from ..kit import counted, percent

__all__ = ["argument_of", "banner", "is_kept_out", "name_of", "names_of", "next_steps"]

Row = Mapping[str, Any]

#: How a reason begins that is a decision of the watch or an operator, not a reply that cannot be used.
KEPT_OUT = ("expelled", "counts as one client", "banned", "excluded", "new: it has a say")
#: What clients do who stand apart from the others, by the measure.
STANDING_APART = {
    "norm": "sent long updates",
    "trimmed": "had more coordinates trimmed than others",
    "opposed": "opposed the majority more than others",
}
#: So many of the accused are named.
MOST_NAMES = 5
#: Below this share of kept coordinates a mask hardly lets the model learn.
FEW_KEPT = 0.02


def name_of(client: Any) -> str:
    """Return a client's id as it is shown: the text "7" is not the number 7.

    >>> name_of(7), name_of("7"), name_of("hospital")
    ('7', '"7"', 'hospital')
    """
    return printable(_told_apart(client))


def _told_apart(client: Any) -> str:
    """Return an id as 'holdfast clients' reads it: text that may be taken for a number is in quotes."""
    is_ambiguous = isinstance(client, str) and re.fullmatch(r'-?\d+|".*"', client, re.DOTALL)
    return f'"{client}"' if is_ambiguous else str(client)


def names_of(clients: Sequence[Row]) -> list[str]:
    """Return how all clients are called: no two alike, though ids may look alike when they are shown.

    >>> names_of([{"id": "a\\nb"}, {"id": "a\\\\nb"}])
    ['a\\\\nb', 'a\\\\nb (#2)']
    """
    names: dict[str, None] = {}
    for place, one in enumerate(clients, start=1):
        name = name_of(one["id"])
        names[name if name not in names else f"{name} (#{place})"] = None
    return list(names)


def is_kept_out(reason: str) -> bool:
    """Tell whether a client has no say by a decision, rather than by what it sent.

    >>> is_kept_out("expelled since round 4"), is_kept_out("the update holds NaN")
    (True, False)
    """
    return reason.startswith(KEPT_OUT)


def banner(
    overview: Row,
    clients: Sequence[Row],
    rounds: Sequence[Row],
    *,
    n_broken: int = 0,
    requests: Sequence[Row] = (),
) -> dict[str, Any]:
    """Return how serious it is, one sentence that says what goes on, and further ones.

    `n_broken` replies of the last round could not be used. `requests` are questions put to an operator.

    >>> found = [{"id": n, "standing": "expelled", "since": 4, "faction": 1} for n in range(3)]
    >>> rest = [{"id": n, "standing": "clear", "since": None, "faction": None} for n in range(3, 10)]
    >>> said = banner({"federation": {"source": "flower"}}, [*found, *rest], [{"round": 5, "rewound": 1}])
    >>> print(said["level"], said["sentence"], *said["further"], sep="\\n")
    expelled
    3 of 10 nodes vote together against all others and are expelled since round 4.
    They are 0, 1, 2.
    The model went back to its start in round 5.
    """
    thing = "node" if overview["federation"].get("source") == "flower" else "client"
    level, sentence, further = "waiting", "No round has ended yet.", []
    n_former = sum(bool(one.get("former")) for one in clients)
    clients = [one for one in clients if not one.get("former")]
    if n_former and not clients:
        sentence = f"No round has ended yet with the {thing}s that are here now."
    elif rounds:
        level, sentence = _found(clients, rounds, thing)
        remarks = [*_alike(clients, thing), *_apart(clients, thing)]
        if level == "clear" and remarks:
            level, sentence = "attention", f"The watch suspects none of the {counted([len(clients)], thing)}."
        further = [*_who(clients, level), *remarks, *_of_rounds(rounds, n_broken)]
    asked, stopped = _open(requests), overview["federation"].get("stopped")
    if asked:
        who = list(dict.fromkeys(name_of(one["client"]) for one in asked))
        until = datetime.fromtimestamp(min(one["deadline"] for one in asked), UTC)
        further[:0] = [f"Without one, the policy decides at {until:%Y-%m-%d %H:%M} UTC.", sentence]
        level = "asking"
        sentence = f"Round {asked[0]['round']} waits for your decision on {thing} {_listed(who)}."
    elif stopped is not None:
        further.insert(0, sentence)
        level, sentence = "stopped", f"The training was stopped: {printable(stopped, limit=300)}."
    if n_former:
        further.append(_of_former(overview["federation"]["new_ids"], len(clients), n_former, thing))
    n_banned = sum(bool(one.get("banned")) for one in clients)
    if n_banned:
        further.append(
            f"{counted([n_banned], thing)} {'is' if n_banned == 1 else 'are'} banned by an operator."
        )
    return {"level": level, "sentence": sentence, "further": further}


def _open(requests: Sequence[Row]) -> list[Row]:
    return [one for one in requests if one["answered"] is None]


def _found(clients: Sequence[Row], rounds: Sequence[Row], thing: str) -> tuple[str, str]:
    """Return the level and the sentence of what the watch says."""
    n = counted([len(clients)], thing)
    by_standing: dict[Any, list[Row]] = {}
    for one in clients:
        by_standing.setdefault(one["standing"], []).append(one)
    expelled, suspected = by_standing.get("expelled", []), by_standing.get("suspected", [])
    as_one = by_standing.get("counts as one", [])
    named = [one for one in suspected if one["since"] is not None]
    if expelled:
        beside = f" {len(as_one)} more count as one {thing}." if as_one else ""
        return "expelled", f"{_together(expelled, n)} expelled{_since(expelled)}.{beside}"
    if as_one:
        return "expelled", (
            f"{len(as_one)} of {n} send the same, and together they count as one {thing}{_since(as_one)}:"
            " one of them may be honest, and copied by the others."
        )
    if named:
        return "suspected", (
            f"{_together(named, n)} suspected{_since(named)}. The watch only reports: they keep their say."
        )
    if suspected:
        return "suspected", (
            f"{_together(suspected, n)} suspected: there is half of the evidence that an expulsion takes."
            " They keep their say."
        )
    if rounds[-1].get("hearing"):
        return "hearing", (
            f"The server listens to the {thing}s first: nothing is applied until they were heard."
        )
    if not set(by_standing) - {None}:
        return "unwatched", f"No watch looks for attackers among the {n}: only the rule defends."
    if len(clients) < N_SEARCHED and set(by_standing) == {"too early to tell"}:
        return "unwatched", f"The watch looks for nobody: it needs {N_SEARCHED}, and has heard {n}."
    return "clear", f"Nobody stands apart: none of the {n} is suspected."


def _together(accused: Sequence[Row], n: str) -> str:
    """Return "3 of 10 nodes vote together against all others and are", or how it is with more factions.

    >>> one, other = {"faction": 1}, {"faction": 2}
    >>> _together([one], "10 nodes")
    '1 of 10 nodes is'
    >>> _together([one, one, other, other], "10 nodes")
    '4 of 10 nodes, in 2 groups that vote together against all others, are'
    """
    sizes = Counter(one["faction"] for one in accused if one["faction"] is not None)
    head = f"{len(accused)} of {n}"
    if len(accused) == 1:
        return f"{head} is"
    if len(sizes) == 1 and sizes.total() == len(accused):
        return f"{head} vote together against all others and are"
    if len(sizes) > 1 and sizes.total() == len(accused):
        return f"{head}, in {len(sizes)} groups that vote together against all others, are"
    return f"{head} are"


def _since(accused: Sequence[Row]) -> str:
    rounds = sorted({one["since"] for one in accused if one["since"] is not None})
    if not rounds:
        return ""
    return f" since round {rounds[0]}" if len(rounds) == 1 else f", the first since round {rounds[0]}"


def _who(clients: Sequence[Row], level: str) -> list[str]:
    """Return who the accused are, if anybody is."""
    standings = ("expelled", "counts as one") if level == "expelled" else (level,)
    names = [name_of(one["id"]) for one in clients if one["standing"] in standings]
    if level == "clear" or not names:
        return []
    return [f"{'It is' if len(names) == 1 else 'They are'} {_listed(names)}."]


def _alike(clients: Sequence[Row], thing: str) -> Iterator[str]:
    """Yield who sent the same model, or the global one unchanged, when they last took part.

    >>> ann, bob = {"id": "ann", "same_as": "bob"}, {"id": "bob", "same_as": "ann", "duplicate_of": "ann"}
    >>> list(_alike([one | {"last_round": 7, "norm": 2.0} for one in (ann, bob)], "client"))
    ['In round 7, 2 clients sent the same model: ann, bob.']
    """
    groups: dict[tuple[Any, ...], list[str]] = {}
    for one in clients:
        if one.get("norm") == 0:
            groups.setdefault((one["last_round"], None), []).append(name_of(one["id"]))
        elif one.get("same_as") is not None:
            first = one.get("duplicate_of")
            key = (one["last_round"], name_of(one["id"] if first is None else first))
            groups.setdefault(key, []).append(name_of(one["id"]))
    for (round, first), names in groups.items():
        what = "the global model unchanged" if first is None else "the same model"
        yield f"In round {round}, {counted([len(names)], thing)} sent {what}: {_listed(names)}."


def _apart(clients: Sequence[Row], thing: str) -> Iterator[str]:
    """Yield who stood apart from all others in each of its last rounds, and by what.

    >>> list(_apart([{"id": 3, "apart": {"norm": 7}}, {"id": 8, "apart": {"norm": 4}}], "node"))
    ['2 nodes sent long updates in at least their last 4 rounds: 3, 8.']
    """
    for measure, does in STANDING_APART.items():
        streaks = {
            name_of(one["id"]): one["apart"][measure]
            for one in clients
            if measure == next(iter(one.get("apart", ())), None)  # who sends long updates is trimmed for it
        }
        if streaks:
            n, least = counted([len(streaks)], thing), min(streaks.values())
            whose = "its" if len(streaks) == 1 else "their"
            yield f"{n} {does} in at least {whose} last {least} rounds: {_listed([*streaks])}."


def _listed(names: Sequence[str]) -> str:
    more = f" and {len(names) - MOST_NAMES} more" if len(names) > MOST_NAMES else ""
    return f"{', '.join(names[:MOST_NAMES])}{more}"


def _of_rounds(rounds: Sequence[Row], n_broken: int) -> list[str]:
    """Return what is to be said of the rounds beside the verdicts."""
    last, said = rounds[-1], []
    back = [one["round"] for one in rounds if one.get("rewound")]
    if back:
        said.append(f"The model went back to its start in round {back[-1]}.")
    if not last.get("aggregated", True) and not last.get("hearing"):
        said.append(f"Round {last['round']} was not aggregated: the model stays as it was.")
    kept = last.get("kept_fraction")
    if isinstance(kept, float) and math.isfinite(kept) and kept < FEW_KEPT:
        said.append(f"The mask keeps only {percent(kept)} % of the coordinates: the model hardly learns.")
    if n_broken:
        of = f" of {last['n_asked']}" if last.get("n_asked") else ""
        said.append(f"In round {last['round']}, {n_broken}{of} replies could not be used.")
    return said


def _of_former(new_ids: Row, n_present: int, n_former: int, thing: str) -> str:
    """Return how many clients are of an earlier run, and that nothing remembered of them applies.

    >>> print(_of_former({"round": 25, "n_connected": 20, "n_known": 0}, 20, 20, "node"))
    20 nodes now, 20 known from before. None of the 20 that connected after round 25 had a known id: bans, \
expulsions and the watch's memory do not apply to them.
    """
    n_known = new_ids["n_known"]
    known, whom = (f"Only {n_known}", "the others") if n_known else ("None", "them")
    when = f"after round {new_ids['round']}" if new_ids["round"] else "at the start"
    return (
        f"{counted([n_present], thing)} now, {n_former} known from before. {known} of the"
        f" {new_ids['n_connected']} that connected {when} had a known id: bans, expulsions and the watch's"
        f" memory do not apply to {whom}."
    )


def next_steps(clients: Sequence[Row], *, path: str, requests: Sequence[Row] = ()) -> list[dict[str, str]]:
    """Return commands for what can be done now, each with what it does.

    An id is quoted for the shell. One that no terminal shows as it is gets no command.

    >>> bob = {"id": "bob; reboot", "standing": "expelled", "since": 4}
    >>> for step in next_steps([bob], path="federation.db"):
    ...     print(step["command"])
    holdfast clients show 'bob; reboot' --ledger federation.db
    holdfast clients ban 'bob; reboot' --ledger federation.db
    holdfast clients pardon 'bob; reboot' --ledger federation.db
    """
    order = {standing: place for place, standing in enumerate(ACCUSED)}
    accused = [one for one in clients if one["standing"] in order and not one.get("former")]
    accused.sort(key=lambda one: (order[one["standing"]], one["since"] is None, one["since"] or 0))
    wanted = [*(one["client"] for one in _open(requests)), *(one["id"] for one in accused)]
    shown = [argument for client in wanted if (argument := argument_of(client)) is not None]
    ledger = f"--ledger {shlex.quote(path)}"
    if not shown:
        return [{"does": "See all clients", "command": f"holdfast clients list {ledger}"}]
    is_like_option = shlex.split(shown[0])[0].startswith("-")
    told = f"{ledger} -- {shown[0]}" if is_like_option else f"{shown[0]} {ledger}"
    steps = {"See its history": "show", "Keep it out for good": "ban", "Take it back": "pardon"}
    if _open(requests):
        steps = {"See its history": "show", "Keep it out": "ban", "Let it stay": "pardon"}
    return [{"does": does, "command": f"holdfast clients {verb} {told}"} for does, verb in steps.items()]


def argument_of(client: Any) -> str | None:
    """Return a client's id as an argument of a command; None if a terminal would not show it as it is."""
    text = _told_apart(client)
    return shlex.quote(text) if text.isprintable() and 0 < len(text) <= 200 else None
