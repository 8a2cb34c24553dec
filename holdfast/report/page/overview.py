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
    measured_first = sorted(claims, key=lambda claim: claim["verdict"] == "not measured")
    return joined(filters, element("ul", *map(_claim, measured_first), class_="claims"))


def _claim(claim: Mapping[str, Any]) -> Markup:
    verdict = str(claim["verdict"])
    sign = element("span", SIGNS.get(verdict, "?"), class_="sign", aria_hidden="true")
    facts = [str(claim[name]) for name in ("task", "source") if claim.get(name)]
    if claim.get("scale"):
        facts.append(f"scale “{claim['scale']}”")
    return element(
        "li",
        element("p", sign, verdict, class_="verdict"),
        element("p", str(claim["text"]), class_="claim"),
        element("p", str(claim["numbers"]), class_="numbers") if claim.get("numbers") else None,
        element("p", " · ".join(facts), class_="quiet"),
        data_verdict=verdict,
        id=str(claim["id"]),
    )
