"""The top of the page: what was measured, where it is, and which claims hold."""

from collections.abc import Mapping, Sequence
from typing import Any

from .elements import Markup, element, joined
from .shown import counted

__all__ = ["claims_of", "contents_of", "facts_of"]

#: Every verdict, with a sign for those who do not go by colours.
SIGNS = {"holds": "✓", "does not hold": "✗", "not measured": "○"}


def facts_of(document: Mapping[str, Any]) -> Markup:
    """Return what the numbers rest on, in a line.

    >>> facts_of({"version": "0.1.0", "scale": "cpu", "experiments": [], "runs": {}})
    '<p class="facts">holdfast 0.1.0 · scale “cpu” · no experiments · no runs</p>'
    """
    facts = [
        f"holdfast {document['version']}",
        f"scale “{document['scale']}”",
        counted([len(document["experiments"])], "experiment"),
        counted([len(document["runs"])], "run"),
    ]
    return element("p", " · ".join(facts), class_="facts")


def contents_of(document: Mapping[str, Any]) -> Markup:
    """Return the links to all sections.

    >>> contents_of({"claims": [], "experiments": []})
    '<ul><li><a href="#claims">Claims</a></li><li><a href="#heat">Defence by attack</a></li></ul>'
    """
    places = [("claims", "Claims")]
    places += [
        (f"experiment-{place}", str(experiment["title"]))
        for place, experiment in enumerate(document["experiments"])
    ]
    places.append(("heat", "Defence by attack"))
    return element("ul", *(element("li", _link(place, title)) for place, title in places))


def _link(place: str, title: str) -> Markup:
    """Return a link; what follows a colon is left out where there is little room."""
    name, colon, rest = title.partition(":")
    return element(
        "a", name, element("span", colon + rest, class_="rest") if rest else None, href=f"#{place}"
    )


def claims_of(claims: Sequence[Mapping[str, Any]]) -> Markup:
    """Return the claims with their verdicts, and a button for every verdict that shows or hides its claims.

    >>> claims_of([])
    '<p class="quiet">No claims are part of this document.</p>'
    """
    if not claims:
        return element("p", "No claims are part of this document.", class_="quiet")
    buttons = [
        element(
            "button",
            element("span", SIGNS[verdict], class_="sign", aria_hidden="true"),
            element("b", str(sum(claim["verdict"] == verdict for claim in claims))),
            f" {verdict}",
            type="button",
            class_="tile",
            aria_pressed="true",
            data_verdict=verdict,
        )
        for verdict in SIGNS
    ]
    filters = element("div", *buttons, class_="tiles", role="group", aria_label="Which claims are shown")
    by_text: dict[tuple[str, str], list[Mapping[str, Any]]] = {}
    for claim in sorted(claims, key=lambda claim: bool(claim["verdict"] == "not measured")):
        by_text.setdefault((str(claim["text"]), str(claim.get("source") or "")), []).append(claim)
    cards = (_card(text, source, same) for (text, source), same in by_text.items())
    return joined(filters, element("ul", *cards, class_="claims"))


def _card(text: str, source: str, claims: Sequence[Mapping[str, Any]]) -> Markup:
    """Return what is claimed, and what came of it on every task."""
    head = element("p", text, " ", element("span", source, class_="quiet"), class_="claim")
    return element("li", head, element("ul", *map(_verdict, claims)))


def _verdict(claim: Mapping[str, Any]) -> Markup:
    verdict = str(claim["verdict"])
    sign = element("span", SIGNS.get(verdict, "?"), class_="sign", aria_hidden="true")
    where = ", ".join(str(claim[name]) for name in ("task", "scale") if claim.get(name))
    return element(
        "li",
        element("span", sign, verdict, class_="verdict"),
        element("span", f" on {where}" if where else "", class_="quiet"),
        element("span", str(claim["numbers"]), class_="numbers") if claim.get("numbers") else None,
        data_verdict=verdict,
    )
