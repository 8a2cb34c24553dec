"""A whole document as text: Markdown, CSV, LaTeX or JSON."""

import json
from collections.abc import Mapping
from typing import Any

from ..errors import InputError
from .tables import claims_text, table_text

__all__ = ["SUFFIXES", "check_format", "document_text"]

#: How the file of a format ends.
SUFFIXES = {"html": ".html", "markdown": ".md", "csv": ".csv", "latex": ".tex", "json": ".json"}


def document_text(document: Mapping[str, Any], format: str) -> str:
    """Return all tables of a document one after the other; Markdown begins with the claims.

    >>> document_text({"scale": "cpu", "experiments": []}, "csv")
    ''
    """
    if format == "json":
        return json.dumps(document, indent=1, allow_nan=False) + "\n"
    tables = [table_text(one, format, scale=document["scale"]) for one in document["experiments"]]
    if format == "markdown":
        return "\n".join(["## Claims\n", claims_text(document["claims"]), "## Tables\n", *tables])
    if format == "csv":  # one table, with one head
        return "".join(table if not place else table.partition("\n")[2] for place, table in enumerate(tables))
    return "\n".join(tables)


def check_format(format: str) -> None:
    """Refuse a format that there is not.

    >>> check_format("pdf")
    Traceback (most recent call last):
    holdfast.errors.InputError: a report's format must be one of html, markdown, csv, latex, json; got 'pdf'
    """
    if format not in SUFFIXES:
        raise InputError(f"a report's format must be one of {', '.join(SUFFIXES)}; got {format!r}")
