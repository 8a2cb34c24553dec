"""One HTML file that shows a document of results: it opens from disk, and asks nothing of a network.

The tables are written here; curves, clients and runs are drawn in the browser, by the scripts beside this
file, from the document itself, which the page carries as JSON. What the document says is never trusted: text
is escaped, and the page forbids itself every script but its own and every request.
"""

import base64
import hashlib
import json
import math
from collections.abc import Mapping
from importlib.resources import files
from pathlib import Path
from string import Template
from typing import Any

from ..._support.atomic import write_whole
from .overview import claims_of, contents_of, facts_of
from .sections import experiment_section, heat_section

__all__ = ["page_of", "write_page"]

#: In the order in which they are put together; the last one starts.
SCRIPTS = (
    "elements.js",
    "lines.js",
    "chart.js",
    "legend.js",
    "curves.js",
    "clients.js",
    "runs.js",
    "start.js",
)


def write_page(document: Mapping[str, Any], path: Path) -> Path:
    """Write the page of a document and return where.

    >>> import tempfile
    >>> document = {"version": "0.1.0", "scale": "cpu", "claims": [], "experiments": [], "runs": {}}
    >>> write_page(document, Path(tempfile.mkdtemp()) / "report.html").name
    'report.html'
    """
    write_whole(path, page_of(document).encode())
    return path


def page_of(document: Mapping[str, Any]) -> str:
    """Return the page of a document, as text.

    >>> document = {"version": "0.1.0", "scale": "cpu", "claims": [], "experiments": [], "runs": {}}
    >>> page_of(document).startswith("<!doctype html>")
    True
    """
    folder = files(__package__)
    script = "\n".join(folder.joinpath(name).read_text("utf-8") for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{script}\n}})();'
    style = folder.joinpath("style.css").read_text("utf-8")
    experiments = document["experiments"]
    sections = [experiment_section(experiment, place) for place, experiment in enumerate(experiments)]
    return Template(folder.joinpath("page.html").read_text("utf-8")).substitute(
        policy=f"default-src 'none'; img-src data:; script-src {_hash(script)}; style-src {_hash(style)}",
        style=style,
        script=script,
        data=embedded(document),
        facts=facts_of(document),
        contents=contents_of(document),
        claims=claims_of(document["claims"]),
        experiments="\n".join(sections),
        heat=heat_section(experiments),
    )


def embedded(document: Mapping[str, Any]) -> str:
    """Return JSON that can stand in a script element: nothing in it can end that, or begin another.

    >>> embedded({"defence": "</script><b>", "share": float("nan")})
    '{"defence":"\\\\u003c/script\\\\u003e\\\\u003cb\\\\u003e","share":null}'
    """
    text = json.dumps(_finite(document), allow_nan=False, separators=(",", ":"))
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")


def _finite(value: Any) -> Any:
    """Return the same with None for numbers that JSON does not know."""
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


def _hash(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"
