"""The document behind the page: all that it draws of a ledger, or what came since a round."""

import shlex
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ... import __version__
from ..._support.printable import printable
from ...ledger.dropping import dropped_replies
from ...watching.verdicts import ACCUSED
from .words import argument_of, banner, is_kept_out, name_of, names_of, next_steps

if TYPE_CHECKING:
    from ...ledger import Ledger

__all__ = ["empty_document", "frame_of", "monitor_document"]

Row = Mapping[str, Any]

#: What the page draws of every round.
ROUND_COLUMNS = (
    *("round", "at", "seconds", "aggregated", "hearing", "rewound", "n_asked", "n_used", "n_dropped"),
    *("kept_fraction", "accuracy", "attack_success", "loss"),
)
#: What it tells of every client.
CLIENT_COLUMNS = (
    *("standing", "since", "faction", "false_alarm", "heard", "first_round", "last_round"),
    *("n_used", "n_dropped", "banned", "norm", "cosine", "trimmed", "opposed"),
)
#: Of so many places on the map at most is a document made; of more rounds, some are left out.
N_PLACES = 12_000
MOST_FRAMES = 120
#: So many rounds that the page has are sent again: what is measured of the model comes after the round.
N_AGAIN = 3
#: So many of the last drops are looked at; of them, and of decisions, so many lines are listed.
N_DROPS, N_LISTED = 5_000, 100


def empty_document(path: str, *, error: str | None = None) -> dict[str, Any]:
    """Return the document of a ledger that is not there yet, or cannot be read now.

    >>> empty_document("federation.db")["banner"]["sentence"]
    'No round has ended yet.'
    """
    said = {"level": "waiting", "sentence": "No round has ended yet.", "further": []}
    told = {"version": __version__, "ledger": path, "title": Path(path).name, "error": error}
    return told | {"banner": said, "tag": None, "next": []}


def monitor_document(ledger: "Ledger", *, path: str, last: int | None = None) -> dict[str, Any]:
    """Return what the page draws: all of it, or what came after the round of which it has the number `last`.

    That is the number that each time a round is made has for itself, `seq`: a round that is made again has
    another, and then everything is told anew.
    """
    rounds = ledger.rounds()  # first: what is written while the rest is read belongs to the next document
    overview, clients, requests = ledger.overview(), ledger.clients(), ledger.requests()
    known = [one["round"] for one in rounds if one["seq"] == last]
    since = known[0] if known else 0
    newest = rounds[-1] if rounds else {}
    timeline, moved = _timeline(
        ledger.timeline(since=max(since - 1, 0)), since=since, upto=newest.get("round", 0), n=len(clients)
    )
    changed = [place for place, one in enumerate(clients) if place in moved or _is_new(one, since)]
    mapped = [one["round"] for one in rounds if one["shared"] is not None]  # somebody watched
    drops = [one for one in dropped_replies(ledger, limit=N_DROPS) if not is_kept_out(one["reason"])]
    n_broken = sum(one["round"] == newest["round"] for one in drops)
    notes = [[one["round"], printable(note, limit=300)] for one in rounds for note in one["notes"]]
    return {
        "version": __version__,
        "ledger": path,
        "ledger_argument": shlex.quote(path),
        "title": printable(overview["federation"].get("name") or Path(path).name),
        "error": None,
        "since": since,
        "last": newest.get("seq"),
        "rule": printable(newest.get("rule") or "–", limit=300),
        "watch": printable(newest.get("watch") or "none", limit=300),
        "banner": banner(overview, clients, rounds, n_broken=n_broken, requests=requests),
        "next": next_steps(clients, path=path, requests=requests),
        "n_planned": overview["federation"].get("n_rounds"),
        "n_clients": len(clients),
        "banned": [place for place, one in enumerate(clients) if one["banned"]],
        "former": [place for place, one in enumerate(clients) if one["former"]],
        "clients": _client_columns(clients, changed, since),
        "rounds": _columns([one for one in rounds if one["round"] > since - N_AGAIN], ROUND_COLUMNS),
        "timeline": timeline,
        "map_rounds": mapped,
        "frames": _frames(ledger, _places(clients), [number for number in mapped if number > since]),
        "n_broken": n_broken,
        "drops": _grouped(drops)[:N_LISTED],
        "notes": notes[-20:],
        "decisions": [_decided(one) for one in ledger.decisions()[-N_LISTED:]],
    }


def frame_of(ledger: "Ledger", number: int, places: Mapping[Any, int] | None = None) -> dict[str, Any] | None:
    """Return the map of one round, or None: its clients as places in the list, x and y in turn, factions."""
    found = ledger.map(round=number)
    if not found["clients"]:
        return None
    places = _places(ledger.clients()) if places is None else places
    flat = [round(part, 2) for place in zip(found["x"], found["y"], strict=True) for part in place]
    clients = [places[_key(client)] for client in found["clients"]]
    return {"round": found["round"], "clients": clients, "xy": flat, "factions": found["factions"]}


def _frames(ledger: "Ledger", places: Mapping[Any, int], rounds: Sequence[int]) -> list[dict[str, Any]]:
    """Return the maps of these rounds; of too many, those of evenly spaced ones and the last."""
    most = max(2, min(MOST_FRAMES, N_PLACES // max(len(places), 1)))
    frames = [frame_of(ledger, number, places) for number in thinned(rounds, most)]
    return [frame for frame in frames if frame is not None]


def _timeline(found: Row, *, since: int, upto: int, n: int) -> tuple[dict[str, Any], set[int]]:
    """Return the letters of the rounds after `since`, and the clients whose standing changed in them."""
    start = sum(number <= since for number in found["rounds"])
    end = sum(number <= upto for number in found["rounds"])
    moved = {place for place, letters in enumerate(found["standings"][:n]) if len(set(letters[:end])) > 1}
    letters = {name: [line[start:end] for line in found[name][:n]] for name in ("standings", "fates")}
    return {"rounds": found["rounds"][start:end], **letters}, moved


def _grouped(drops: Sequence[Row]) -> list[list[Any]]:
    """Return who was dropped and why, once per client and reason, with the rounds; the newest first."""
    found: dict[tuple[str, str], list[int]] = {}
    for one in drops:
        found.setdefault((name_of(one["client"]), printable(one["reason"], limit=200)), []).append(
            one["round"]
        )
    newest = sorted(found.items(), key=lambda item: -item[1][-1])
    return [[rounds[0], rounds[-1], len(rounds), *told] for told, rounds in newest]


def _is_new(client: Row, since: int) -> bool:
    is_unheard = client["last_round"] is None
    return is_unheard or client["last_round"] > since or client["standing"] in ACCUSED


def _key(client: Any) -> tuple[str, Any]:
    return type(client).__name__, client  # 1 and True are one key of a dictionary


def _places(clients: Sequence[Row]) -> dict[Any, int]:
    return {_key(one["id"]): place for place, one in enumerate(clients)}


def _client_columns(clients: Sequence[Row], places: Sequence[int], since: int) -> dict[str, list[Any]]:
    """Return clients column by column; what never changes only of those whom the page does not know yet."""
    names = names_of(clients)
    rows = [clients[place] for place in places]
    known = [one["first_round"] is not None and one["first_round"] <= since for one in rows]
    told: dict[str, list[Any]] = {
        "place": list(places),
        "name": [None if old else names[place] for place, old in zip(places, known, strict=True)],
        "argument": [None if old else argument_of(one["id"]) for one, old in zip(rows, known, strict=True)],
        "remarks": ["; ".join(one["remarks"]) or None for one in rows],
    }
    return told | _columns(rows, CLIENT_COLUMNS)


def thinned(numbers: Sequence[int], most: int) -> list[int]:
    """Return at most so many of the numbers, evenly spaced, the first and the last among them.

    >>> thinned(range(1, 11), 4), thinned([5, 6], 4)
    ([1, 4, 7, 10], [5, 6])
    """
    if len(numbers) <= most:
        return list(numbers)
    return [numbers[round(place * (len(numbers) - 1) / (most - 1))] for place in range(most)]


def _columns(rows: Sequence[Row], names: Iterable[str]) -> dict[str, list[Any]]:
    """Return rows column by column, without those that say nothing."""
    columns = {name: [_short(row.get(name)) for row in rows] for name in names}
    return {name: column for name, column in columns.items() if any(value is not None for value in column)}


def _short(value: Any) -> Any:
    return float(f"{value:.4g}") if isinstance(value, float) and abs(value) < 1e6 else value


def _decided(one: Row) -> dict[str, Any]:
    client = one.get("client")
    text = {name: printable(one.get(name) or "", limit=200) for name in ("action", "by", "why")}
    return {
        "at": one["at"],
        "round": one["round"],
        "client": None if client is None else name_of(client),
        **text,
    }
