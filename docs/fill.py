"""Put the stored results into the pages of docs, and their figures into docs/figures: `make docs`."""

import re
from pathlib import Path
from typing import Any

from holdfast.paper.evidence import evidence
from holdfast.report.figures import draw_figures
from holdfast.report.tables import claims_text, table_text

ROOT = Path(__file__).parent.parent
PAGES, RESULTS = (ROOT / "docs" / "results.md", ROOT / "docs" / "watch.md"), ROOT / "results"
MARKED = re.compile(r"<!-- (\S+):start -->\n.*?<!-- \1:end -->\n", re.S)


def filled(page: str, found: dict[str, Any]) -> str:
    """Return the page with every marked part as a document of results has it."""

    def part(match: re.Match[str]) -> str:
        return f"<!-- {match[1]}:start -->\n{_text(match[1], found)}<!-- {match[1]}:end -->\n"

    return MARKED.sub(part, page)


def _text(name: str, found: dict[str, Any]) -> str:
    """Return a table, or of the claims those that are measured."""
    if name == "claims":
        return claims_text([one for one in found["claims"] if one["verdict"] != "not measured"])
    if name == "worst":
        return worst_text(found["experiments"])
    (experiment,) = [one for one in found["experiments"] if one["name"] == name]
    return table_text(experiment, "markdown", scale=found["scale"])


def worst_text(experiments: list[dict[str, Any]]) -> str:
    """Return for every defence and task the attack that succeeds most, of all that were measured."""
    cells: dict[str, dict[str, list[tuple[float, str]]]] = {}
    for one in experiments:
        if one["name"] not in ("watch", "hiding"):
            continue
        for cell in one["cells"]:
            defence, _, part = cell["row"].partition(": ")
            if cell["measured"] and cell["attack"] != "none" and cell["task"] in ("phishing", "digits"):
                success = cell["measured"]["attack_success"]["mean"]
                cells.setdefault(defence, {}).setdefault(cell["task"], []).append((success, part or "plain"))
    lines = ["| Defence | phishing: worst ASR (attack) | digits: worst ASR (attack) |", "| --- | --- | --- |"]
    for defence, by_task in cells.items():
        worst = [max(by_task.get(task, []), default=None) for task in ("phishing", "digits")]
        shown = ["—" if one is None else f"{one[0]:.3f} ({one[1]})" for one in worst]
        lines.append(f"| {defence} | {shown[0]} | {shown[1]} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    document = evidence(["all"], RESULTS)
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8"), document), encoding="utf-8")
    draw_figures(document, ROOT / "docs" / "figures")
