"""Drawn figures, carried inside the page."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from .elements import Markup, element
from .shown import part

__all__ = ["figure_of"]

#: What a browser shows as a picture, the best first. As pictures, not even SVG files can run a script.
KINDS = {"svg": "image/svg+xml", "png": "image/png"}

#: A drawing of more bytes than this is better carried as dots.
LARGE = 400_000


def figure_of(figure: Mapping[str, Any]) -> Markup:
    """Return a figure with its caption; one that was not drawn says so.

    >>> figure_of({"name": "f", "caption": "A line", "files": {}})
    '<figure><p class="quiet">Not drawn yet.</p><figcaption>A line</figcaption></figure>'
    """
    caption = str(figure.get("caption") or figure.get("name"))
    source = _source(part(figure, "files") or {})
    picture = (
        element("img", src=source, alt=caption) if source else element("p", "Not drawn yet.", class_="quiet")
    )
    return element("figure", picture, element("figcaption", caption))


def _source(named: Mapping[str, Any]) -> str | None:
    there = {kind: Path(named[kind]) for kind in KINDS if kind in named and Path(named[kind]).is_file()}
    if len(there) > 1 and there["svg"].stat().st_size > LARGE:
        del there["svg"]
    for kind, path in there.items():
        return f"data:{KINDS[kind]};base64,{base64.b64encode(path.read_bytes()).decode()}"
    return None
