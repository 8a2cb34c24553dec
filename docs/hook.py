"""What MkDocs calls while it builds the site: pages that are made, links that leave docs, the navigation."""

import logging
import posixpath
from pathlib import Path
from typing import Any

from making import demo, pages, sources
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

log = logging.getLogger("mkdocs.hooks.holdfast")  # a warning stops a strict build
ROOT = Path(__file__).parent.parent
#: What Material's offline plugin has every page fetch, and what stands in for it.
FETCHED, OWN = "https://unpkg.com/iframe-worker/shim", "assets/worker.js"

#: Pages by their address, made anew for each build.
_made: dict[str, str] = {}


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Make the pages, and put them where the navigation names their folder."""
    _made.clear()
    _made.update(pages.make(ROOT))
    written = {str(path.relative_to(ROOT / "docs")): path.read_text() for path in _written()}
    _made.update(sources.make(ROOT, {**written, **_made}, warn=log.warning))
    listed: set[str] = set()
    config.nav = _expanded(config.nav, listed)
    left = sorted({*written, *_made} - listed)
    if left:  # a page that nobody has placed yet can be read all the same
        config.nav.append({"More": left})
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the pages that were made, and that of the demo."""
    for address, text in _made.items():
        files.append(File.generated(config, address, content=text))
    files.append(File.generated(config, demo.ADDRESS, content=demo.page(ROOT / "docs")))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Lead links that leave docs to the pages of those files, and names in tables to their own pages."""
    address = page.file.src_uri
    return pages.linked(sources.rewritten(markdown, address, ROOT), address, _made)


def on_post_page(output: str, page: Page, config: MkDocsConfig) -> str:
    """Let no page fetch anything from elsewhere."""
    return output.replace(FETCHED, posixpath.relpath(OWN, posixpath.dirname(page.url) or "."))


def on_post_template(output_content: str, template_name: str, config: MkDocsConfig) -> str:
    """Do the same for the page of addresses that do not exist."""
    return output_content.replace(FETCHED, f"/{OWN}")


def _written() -> list[Path]:
    return sorted(path for path in (ROOT / "docs").rglob("*.md"))


def _expanded(entries: list[Any], listed: set[str]) -> list[Any]:
    """Return entries of the navigation, with pages in place of folders; note down every page in it."""
    expanded: list[Any] = []
    for entry in entries:
        title, value = next(iter(entry.items())) if isinstance(entry, dict) else (None, entry)
        if isinstance(value, str) and value.endswith("/"):
            value = [name for name in _made if name.startswith(value) and name not in listed]
            listed.update(value)
        elif isinstance(value, list):
            value = _expanded(value, listed)
        else:
            listed.add(value)
        expanded.append({title: value} if title else value)
    return expanded
