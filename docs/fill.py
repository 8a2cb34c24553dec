"""Put the stored results into the pages of docs, and their figures into docs/figures: `make docs`."""

import re
from pathlib import Path
from typing import Any

from holdfast.paper.evidence import evidence
from holdfast.paper.watch_tables import DEFENCES
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
    if name.startswith("attacks-"):
        return attacks_text(found["experiments"], name.removeprefix("attacks-"))
    (experiment,) = [one for one in found["experiments"] if one["name"] == name]
    if name == "minorities":
        return minorities_text(experiment)
    return table_text(experiment, "markdown", scale=found["scale"])


def attacks_text(experiments: list[dict[str, Any]], task: str) -> str:
    """Return attack success by attack and defence, and last the worst case of each defence, on one task.

    Only defences that were tried with every attack are in it.
    """
    found: dict[str, dict[str, float]] = {label: {} for label, _ in DEFENCES}
    for one in sorted(experiments, key=lambda one: one["name"] == "hiding"):  # the plain attack comes first
        for cell in one["cells"] if one["name"] in ("table1", "watch", "hiding") else ():
            defence, _, part = cell["row"].partition(": ")
            if cell["measured"] and cell["attack"] != "none" and cell["task"] == task and defence in found:
                found[defence][part or "plain"] = cell["measured"]["attack_success"]["mean"]
    most = max(len(row) for row in found.values()) - 1  # whitewash is for a watch alone
    tried = {defence: row for defence, row in found.items() if len(row) >= most}
    attacks = list(dict.fromkeys(attack for row in tried.values() for attack in row))
    lines = [f"| {task} | {' | '.join(tried)} |", "| --- |" + " ---: |" * len(tried)]
    for attack in attacks:
        cells = [f"{row[attack]:.2f}" if attack in row else "" for row in tried.values()]
        lines.append(f"| {attack} | {' | '.join(cells)} |")
    worst = [f"**{max(row.values()):.2f}**" for row in tried.values()]
    return "\n".join([*lines, f"| **worst case** | {' | '.join(worst)} |"]) + "\n"


def minorities_text(experiment: dict[str, Any]) -> str:
    """Return accuracy, minority accuracy and attack success of every measured cell."""
    names = ("accuracy", "minority_accuracy", "attack_success")
    columns = [
        c
        for c in experiment["columns"]
        if any(x["measured"] for x in experiment["cells"] if x["column"] == c)
    ]
    lines = [f"| | {' | '.join(columns)} |", "| --- |" + " --- |" * len(columns)]
    for row in experiment["rows"]:
        by_column = {cell["column"]: cell["measured"] for cell in experiment["cells"] if cell["row"] == row}
        shown = [
            " / ".join(f"{by_column[c][name]['mean']:.3f}" for name in names) if by_column.get(c) else "—"
            for c in columns
        ]
        lines.append(f"| {row} | {' | '.join(shown)} |")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    document = evidence(["all"], RESULTS)
    for page in PAGES:
        page.write_text(filled(page.read_text(encoding="utf-8"), document), encoding="utf-8")
    draw_figures(document, ROOT / "docs" / "figures")
