"""Put the stored results into the pages of docs, and their figures into docs/figures: `make fill`."""

import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from filling import algorithm, findings, lists, network, watched
from filling.probes import network_figure, probe_text
from front import front_text, write_front

from holdfast.paper.evidence import evidence
from holdfast.report.figures import draw_figures
from holdfast.report.plotting import save
from holdfast.report.tables import table_text

ROOT = Path(__file__).parent.parent
MARKED = re.compile(r"<!-- (\S+):start -->\n.*?<!-- \1:end -->\n", re.S)
#: Parts of pages that other commands write.
FOREIGN = ("benchmark",)

#: Parts that need no results, and parts made of all of them.
LISTS: Mapping[str, Callable[[], str]] = {
    "rules": lists.rules_text,
    "settings": algorithm.settings_text,
    "clients": lists.clients_text,
    "backdoors": lists.backdoors_text,
    "parts": lists.parts_text,
    "false_alarms": watched.false_alarms_text,
    "watch_benefit": watched.benefit_text,
    "false_alarms_by_rule": watched.false_alarms_by_rule_text,
}
FINDINGS: Mapping[str, Callable[[Mapping[str, Any]], str]] = {
    "main": findings.main_text,
    "verdicts": findings.verdicts_text,
    "conditions": algorithm.conditions_text,
    "counted": findings.counted_text,
    "claims": findings.claims_text,
    "counted_by_task": findings.counted_by_task_text,
    "missing": findings.missing_text,
    "protocols": network.protocols_text,
    "decides": network.decides_text,
    "front": front_text,
    "found": watched.found_text,
    "last_ten": findings.last_ten_text,
    "last_ten_of_all": findings.last_ten_of_all_text,
    "worst": lambda found: watched.worst_text(found["experiments"]),
}


def pages() -> list[Path]:
    """Return the pages of docs that have parts to fill, by their address."""
    found = sorted((ROOT / "docs").rglob("*.md"))
    return [path for path in found if set(marks(path.read_text(encoding="utf-8"))) - {*FOREIGN}]


def marks(page: str) -> list[str]:
    """Return the names of a page's marked parts.

    >>> marks("<!-- table1:start -->\\n| |\\n<!-- table1:end -->\\n")
    ['table1']
    """
    return [match[1] for match in MARKED.finditer(page)]


def filled(page: str, found: dict[str, Any]) -> str:
    """Return the page with every marked part as a document of results has it."""

    def part(match: re.Match[str]) -> str:
        if match[1] in FOREIGN:
            return match[0]
        return f"<!-- {match[1]}:start -->\n{_text(match[1], found)}<!-- {match[1]}:end -->\n"

    return MARKED.sub(part, page)


def _text(name: str, found: dict[str, Any]) -> str:
    """Return what belongs between the markers of this name."""
    if name in LISTS:
        return LISTS[name]()
    if name in FINDINGS:
        return FINDINGS[name](found)
    kind, _, rest = name.partition("-")
    if kind == "probe":
        return probe_text(rest)
    if kind == "attacks":
        return watched.attacks_text(found["experiments"], rest)
    if name == "rest":
        return "\n".join(table_text(one, "markdown", scale=found["scale"]) for one in unplaced(found))
    (experiment,) = [one for one in found["experiments"] if one["name"] == name]
    if name == "minorities":
        return watched.minorities_text(experiment)
    return table_text(experiment, "markdown", scale=found["scale"])


def unplaced(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the tables with a measured cell that no page has a place for: nothing measured goes unseen."""
    placed = {name for path in pages() for name in marks(path.read_text(encoding="utf-8"))}
    placed |= {"hiding", *network.PLACED}  # which stand on their pages in another form
    return [
        one
        for one in found["experiments"]
        if one["name"] not in placed and not one["axis"] and any(cell["measured"] for cell in one["cells"])
    ]


if __name__ == "__main__":
    document = evidence(["all", "worst_case"], ROOT / "results")
    for path in pages():
        path.write_text(filled(path.read_text(encoding="utf-8"), document), encoding="utf-8")
    write_front(document)
    draw_figures(document, ROOT / "docs" / "figures")
    save(network_figure(), ROOT / "docs" / "figures" / "probe-network.png")
    save(network.rounds_figure(), ROOT / "docs" / "figures" / "paper-network.png")
