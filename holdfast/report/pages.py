"""The pages: what was measured, the demo, one round over files. Each takes a document and returns HTML."""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from .. import __version__
from .._support.atomic import write_whole
from .._support.counting import is_number
from ..core.diagnostics import Diagnostics, agreement_by_tenths
from .figures import pictures_of
from .kit import ABSENT, part, render
from .maps import drawn_watch, verdicts_in
from .overview import accused_rows, conclude_evidence, heat_maps
from .tables import cells_by_row, has_more_rounds, lost_rounds, rounds_text
from .worst import HEADS, worst_rows

__all__ = ["demo_page", "results_page", "round_page", "round_paths", "write_round"]

Document = Mapping[str, Any]

#: Every verdict on a claim, with a sign for those who do not go by colours.
SIGNS = {"holds": "✓", "does not hold": "✗", "preliminary": "≈", "not measured": "○"}

#: What is measured of each client of a round: the title of the column, and how its numbers are written.
COLUMNS = {
    "selected": ("selected", ""),
    "client_weights": ("weight", ".4f"),
    "norms": ("length", ".4g"),
    "cosines": ("cosine with the result", ".3f"),
    "opposed_share": ("sign against the majority", ".1%"),
    "trimmed_share": ("trimmed away", ".1%"),
}

#: The numbers of a table, and their titles; those of a watch are shown in a table of one's own.
NUMBERS = {"accuracy": "Acc", "minority_accuracy": "Minority", "attack_success": "ASR"}
COUNTS = {"n_found": "Found", "n_wronged": "Wrongly"}

#: What the page of a round tells in words; all else of its document are facts.
TOLD = ("conclusion", "diagnostics", "verdicts", "wants_rewind")


def results_page(
    document: Document, *, title: str = "What was measured", links: Mapping[str, str] | None = None
) -> str:
    """Return the page of a document of results: claims, tables, curves, clients, runs and heat maps.

    `links` says where else the results can be seen, by name; an http(s) address becomes a link.

    >>> document = {"version": "0.1.0", "scale": "cpu", "runs": {}, "unusable": {}}
    >>> "Nothing was measured yet." in results_page({**document, "claims": [], "experiments": []})
    True
    """
    claims, experiments = document["claims"], document["experiments"]
    # As a comparison is: it has no contents, no overview.
    is_single = not claims and len(experiments) == 1 and not experiments[0].get("over_attacks")
    verdicts = dict.fromkeys([*SIGNS, *(claim["verdict"] for claim in claims)], 0)
    same: dict[tuple[str, str], list[Document]] = {}
    for claim in sorted(claims, key=lambda claim: bool(claim["verdict"] == "not measured")):
        verdicts[claim["verdict"]] += 1
        same.setdefault((claim["text"], claim.get("source") or ""), []).append(claim)
    sections = [_section(one, NUMBERS | COUNTS if is_single else NUMBERS) for one in experiments]
    pictures = [pictures_of(one, scale=document["scale"]) for one in experiments]
    return render(
        "results.html",
        title=title,
        conclusion=document.get("conclusion") or _overall(document),
        links=[(name, where, _is_address(where)) for name, where in (links or {}).items()],
        is_single=is_single,
        has_claims=not is_single and (claims or document["scale"] is not None),
        data=_drawn(document),
        n_runs=len(document["runs"]),
        worst_heads=HEADS,
        signs=SIGNS,
        verdicts=verdicts,
        claims=list(same.items()),
        sections=[own | {"pictures": drawn} for own, drawn in zip(sections, pictures, strict=True)],
        explained={name for own in sections for shown in own["columns"].values() for name in shown},
        heads=Counter(own["title"].partition(":")[0] for own in sections),
        heat=heat_maps(experiments),
        accused=[] if is_single else accused_rows(document),
    )


def _overall(document: Document) -> dict[str, Any] | None:
    found = conclude_evidence(document)
    return None if found is None else found.as_dict()


def _drawn(document: Document) -> dict[str, Any]:
    """Return what scripts draw: neither what is drawn already, nor the curves behind thousands of cells."""
    experiments = [{**one, "analyses": {}} for one in document["experiments"]]
    cells = [cell for one in experiments if not one.get("over_attacks") for cell in one["cells"]]
    keys = {key for cell in cells for key in cell["keys"]}
    runs = {key: run for key, run in document["runs"].items() if key in keys}
    return {**document, "experiments": experiments, "runs": runs}


def _is_address(text: str) -> bool:
    return text.startswith(("https://", "http://"))


def demo_page(
    document: Document, *, verdicts: Sequence[Mapping[str, str]], defences: Mapping[str, str], seed: int
) -> str:
    """Return the page of the demo: what each defence does, by name, and what became of the backdoor."""
    sections = [_section(one) for one in document["experiments"]]
    return render(
        "demo.html",
        data=document,
        conclusion=document["conclusion"],
        sections=sections,
        verdicts=verdicts,
        defences=defences,
        seed=seed,
    )


def round_page(document: Document) -> str:
    """Return the page of one round: diagnostics and verdicts as dictionaries, and the facts beside them."""
    diagnostics, verdicts = document["diagnostics"], verdicts_in(document)
    shown = {name: form for name, form in COLUMNS.items() if diagnostics[name] is not None}
    rows = [
        (client, [_text(diagnostics[name][place], form) for name, (_, form) in shown.items()])
        for place, client in enumerate(diagnostics["clients"])
    ]
    return render(
        "round.html",
        conclusion=document.get("conclusion"),
        data=None if verdicts is None else {"watch": drawn_watch([verdicts])},
        diagnostics=diagnostics,
        guarantee=_guarantee(diagnostics),
        verdicts=verdicts,
        wants_rewind=document.get("wants_rewind"),
        facts={name: value for name, value in document.items() if name not in TOLD},
        heads=[title for title, _ in shown.values()],
        rows=rows,
        shares=agreement_by_tenths(diagnostics["consistency"] or []),
    )


def _guarantee(diagnostics: Document) -> str | None:
    """Return what the rule guarantees in the round, in words; None if it has no guarantee."""
    told: Any = {name: diagnostics.get(name) for name in ("covered", "tolerates", "promise")}
    return Diagnostics(diagnostics["rule"], tuple(diagnostics["clients"]), **told).guarantee


def round_paths(path: Path) -> tuple[Path, Path]:
    """Return where the document of a round goes, and where its page: either may have been named.

    >>> [path.name for path in round_paths(Path("round.html"))]
    ['round.json', 'round.html']
    """
    is_page = path.suffix.lower() in (".html", ".htm")
    return (path.with_suffix(".json"), path) if is_page else (path, path.with_suffix(".html"))


def write_round(document: Document, path: Path) -> Path:
    """Write the document of a round as JSON, and its page beside it; return where the page is."""
    document_path, page = round_paths(path)
    rendered = round_page(document)
    write_whole(document_path, json.dumps({"holdfast": __version__, **document}, indent=1).encode())
    write_whole(page, rendered.encode())
    return page


def _section(experiment: Document, titles: Mapping[str, str] = NUMBERS) -> dict[str, Any]:
    columns = {
        column: [cell for cell in experiment["cells"] if cell["column"] == column]
        for column in experiment["columns"]
    }
    means = f"Numbers are given {rounds_text(experiment)}. " if experiment.get("n_last", 1) > 1 else ""
    return {
        "note": f"{means}{experiment['note']} {lost_rounds(experiment)}".strip(),
        "cells": experiment["cells"],
        "columns": {column: _shown(cells, titles) for column, cells in columns.items()},
        "title": str(experiment["title"]),
        "baseline": experiment.get("baseline"),
        "printed_by": experiment.get("printed_by", "the paper"),
        "has_more_rounds": has_more_rounds(experiment),
        "grid": cells_by_row(experiment),
        "worst": worst_rows(experiment) if experiment.get("over_attacks") else None,
        "numbers": _flat({name: part for name, part in experiment["studies"].items() if name != "findings"}),
    }


def _shown(cells: Sequence[Document], titles: Mapping[str, str]) -> dict[str, str]:
    """Return the titles of the numbers that some of a column's cells have; Acc and ASR are always shown."""
    found = [cell["measured"] for cell in cells if cell["measured"]]
    always = {"accuracy", "attack_success"}
    if not any(part(measured, "n_attackers") for measured in found):
        found = [{**measured, "n_found": None} for measured in found]  # there is nobody to find
    return {
        name: title
        for name, title in titles.items()
        if name in always or any(part(measured, name) for measured in found)
    }


def _flat(value: Any, name: str = "") -> list[tuple[str, str]]:
    """Return nested numbers as lines of a table: a name, and a text."""
    if isinstance(value, Mapping):
        keys = {key: str(key).replace("_", " ") for key in value}
        inside = (_flat(item, f"{name} · {keys[key]}" if name else keys[key]) for key, item in value.items())
        return [line for lines in inside for line in lines]
    if isinstance(value, list | tuple):
        return [(name, ", ".join(text for item in value for _, text in _flat(item, name)))]
    return [(name, _text(value, ".4g"))]


def _text(value: Any, form: str) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format(value, form) if is_number(value) else ABSENT if value is None else str(value)
