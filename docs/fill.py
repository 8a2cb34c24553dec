"""Put the stored results into docs/results.md, and their figures into docs/figures: `make docs`."""

import re
from pathlib import Path
from typing import Any

from holdfast.paper.evidence import evidence
from holdfast.report.figures import draw_figures
from holdfast.report.tables import claims_text, table_text

ROOT = Path(__file__).parent.parent
PAGE, RESULTS = ROOT / "docs" / "results.md", ROOT / "results"
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
    (experiment,) = [one for one in found["experiments"] if one["name"] == name]
    return table_text(experiment, "markdown", scale=found["scale"])


if __name__ == "__main__":
    document = evidence(["all"], RESULTS)
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), document), encoding="utf-8")
    draw_figures(document, PAGE.parent / "figures")
