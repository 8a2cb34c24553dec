"""All pages that are made, by address, and what links to them."""

import re
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from . import attacks, choosing, everything, reference, rules, stored

#: Where a made part stands in a written page.
MARK = re.compile(r"<!-- made: (\S+) -->")
#: Written pages whose tables open with names that have a page, and the folder of those pages.
TABLES = {"rules.md": "rule/", "attacks.md": "attack/"}

_parts: dict[str, str] = {}


def make(root: Path) -> dict[str, str]:
    """Return the Markdown of every page, by its address on the site."""
    cells = stored.load(root)
    _parts.update(
        expectations=choosing.expectations(cells),
        minorities=choosing.minorities(root),
        citation=_citation(root),
    )
    return {
        **choosing.make(cells),
        **rules.make(cells, stored.seconds(root)),
        **attacks.make(cells),
        **everything.make(cells),
        **reference.make(),
    }


def linked(text: str, address: str, made: Mapping[str, str]) -> str:
    """Return a page with its made parts, and with the names that open a table's row linked to their pages."""
    if address not in made:
        text = MARK.sub(lambda match: _parts[match[1]], text)
    if address in TABLES:
        text = re.sub(r"^\| `([\w+-]+)` \|", partial(_row, TABLES[address], made), text, flags=re.M)
    return text


def _row(folder: str, made: Mapping[str, str], match: re.Match[str]) -> str:
    page = f"{folder}{match[1]}.md"
    return f"| [`{match[1]}`]({page}) |" if page in made else match[0]


def _citation(root: Path) -> str:
    """Return the entry for BibTeX, made of CITATION.cff."""
    text = (root / "CITATION.cff").read_text(encoding="utf-8")
    own = text.partition("\nreferences:")[0]
    fields = dict(re.findall(r'^([\w-]+): "?([^"\n>]+)"?$', own, flags=re.M))
    authors = re.findall(r'^  - name: "(.+)"$', own, flags=re.M)
    return f"""```bibtex
@software{{holdfast,
  title   = {{{fields["title"]}}},
  author  = {{{" and ".join(f"{{{name}}}" for name in authors)}}},
  version = {{{fields["version"]}}},
  year    = {{{fields["date-released"][:4]}}},
  license = {{{fields["license"]}}},
}}
```"""
