"""Put the tables of results/tables/cpu into docs/results.md, between their markers: `make docs`."""

import re
from pathlib import Path

ROOT = Path(__file__).parent.parent
PAGE, TABLES = ROOT / "docs" / "results.md", ROOT / "results" / "tables" / "cpu"
MARKED = re.compile(r"<!-- (\S+):start -->\n.*?<!-- \1:end -->\n", re.S)


def filled(page: str) -> str:
    """Return the page with every marked part as the tables are now."""
    return MARKED.sub(
        lambda found: f"<!-- {found[1]}:start -->\n{part(found[1])}<!-- {found[1]}:end -->\n", page
    )


def part(name: str) -> str:
    """Return a table, or of the claims those that are measured."""
    text = (TABLES / f"{name}.md").read_text(encoding="utf-8")
    if name == "claims":
        lines = [line for line in text.splitlines() if "| not measured |" not in line]
        return "\n".join(lines) + "\n"
    return text if text.endswith("\n") else text + "\n"


if __name__ == "__main__":
    PAGE.write_text(filled(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
