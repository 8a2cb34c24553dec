"""What a round has to say of itself, as JSON and as one small page."""

import html
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from .. import __version__
from .._support.atomic import write_whole
from ..diagnostics import Diagnostics

__all__ = ["page_of", "write_report"]

STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem }
table { border-collapse: collapse; margin: 1rem 0 } caption { text-align: left; font-weight: 600 }
th, td { padding: .25rem .7rem; border-bottom: 1px solid #d8dee4; text-align: right }
th:first-child, td:first-child { text-align: left }
.bad { color: #a40e26 } .bar { background: #4a78b5; height: .7rem }
@media (prefers-color-scheme: dark) {
  body { background: #0d1117; color: #e6edf3 } th, td { border-color: #30363d } .bad { color: #ff7b72 }
}
"""
COLUMNS: dict[str, tuple[str, Callable[[Any], str]]] = {
    "selected": ("chosen", lambda x: "yes" if x else "no"),
    "client_weights": ("weight", lambda x: f"{x:.4f}"),
    "norms": ("length", lambda x: f"{x:.4g}"),
    "cosines": ("cosine with the result", lambda x: f"{x:.3f}"),
    "opposed_share": ("sign against the majority", lambda x: f"{x:.1%}"),
    "trimmed_share": ("trimmed away", lambda x: f"{x:.1%}"),
}


def write_report(path: Path, said: Diagnostics, facts: dict[str, Any]) -> Path:
    """Write the JSON to the path and the page beside it; return where the page is.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "report.json"
    >>> write_report(path, Diagnostics(rule="median", clients=("ann",)), {"base": "b.safetensors"}).name
    'report.html'
    """
    document = {"holdfast": __version__, **facts, "diagnostics": said.as_dict()}
    write_whole(path, json.dumps(document, indent=1).encode())
    page = path.with_suffix(".html") if path.suffix != ".html" else path.with_suffix(".page.html")
    write_whole(page, page_of(said, facts).encode())
    return page


def page_of(said: Diagnostics, facts: dict[str, Any]) -> str:
    """Return the page, which needs nothing from elsewhere; names from clients cannot become markup.

    >>> "<b>" in page_of(Diagnostics(rule="median", clients=("<b>",)), {})
    False
    """
    body = "\n".join(_body(said, facts))
    head = f'<meta charset="utf-8"><title>Round by {html.escape(said.rule)}</title><style>{STYLE}</style>'
    return f'<!doctype html>\n<html lang="en"><head>{head}</head>\n<body>\n{body}\n</body></html>\n'


def _body(said: Diagnostics, facts: dict[str, Any]) -> Iterator[str]:
    n_dropped = f", {len(said.dropped)} dropped" if said.dropped else ""
    yield f"<h1>Round by {html.escape(said.rule)}</h1>"
    yield f"<p>{len(said.clients)} clients{n_dropped}.</p>"
    if not said.aggregated:
        yield '<p class="bad"><b>Not aggregated: the model stays as it is.</b></p>'
    if said.kept_fraction is not None:
        yield f"<p>The mask keeps {said.kept_fraction:.1%} of the coordinates.</p>"
    if said.covered is not None:
        allowed = "" if said.tolerates is None else f", with up to {said.tolerates} malicious clients"
        covers = f"covers this round{allowed}" if said.covered else "does not cover this round"
        yield f"<p>The guarantee {covers}.</p>"
    yield from (f"<p>{html.escape(note)}</p>" for note in said.notes)
    yield _table("Settings and files", ("", ""), list(facts.items()))
    if said.dropped:
        rows = [(drop.client, drop.reason) for drop in said.dropped]
        yield _table("Dropped", ("client", "why"), rows, css="bad")
    shown = {title: (getattr(said, field), text) for field, (title, text) in COLUMNS.items()}
    shown = {title: (values, text) for title, (values, text) in shown.items() if values is not None}
    clients = [
        (client, *(text(values[row]) for values, text in shown.values()))
        for row, client in enumerate(said.clients)
    ]
    yield _table("Clients", ("client", *shown), clients)
    yield from _agreement(said)


def _agreement(said: Diagnostics) -> Iterator[str]:
    if said.consistency is None or not said.consistency.sum():
        return
    n = len(said.consistency) - 1
    tenths = np.minimum(10 * np.arange(n + 1) // max(n, 1), 9)
    shares = np.bincount(tenths, weights=said.consistency, minlength=10) / said.consistency.sum()
    heads = "<tr><th>|sum| / n</th><th>coordinates</th><th></th></tr>"
    yield f"<table><caption>Agreement of signs</caption>{heads}"
    for tenth, share in enumerate(shares):
        bar = f'<div class="bar" style="width:{20 * share:.2f}rem"></div>'
        yield f"<tr><td>{tenth / 10:.1f}-{(tenth + 1) / 10:.1f}</td><td>{share:.1%}</td><td>{bar}</td></tr>"
    yield "</table>"


def _table(title: str, heads: tuple[str, ...], rows: list[tuple[Any, ...]], *, css: str = "") -> str:
    head = "".join(f"<th>{html.escape(text)}</th>" for text in heads) if any(heads) else ""
    cells = ("".join(f"<td>{html.escape(str(cell))}</td>" for cell in row) for row in rows)
    body = "".join(f"<tr>{row}</tr>" for row in cells)
    return f'<table class="{css}"><caption>{html.escape(title)}</caption><tr>{head}</tr>{body}</table>'
