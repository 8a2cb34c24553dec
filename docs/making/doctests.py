"""Docstrings with their doctests as blocks of code, for mkdocstrings."""

import re
from typing import Any

import griffe

#: Lines from the first prompt to the next empty line.
DOCTEST = re.compile(r"^>>> .*?(?=\n[ \t]*\n|\Z)", re.M | re.S)


class Doctests(griffe.Extension):
    """Fence the examples: Markdown would take their prompts for quotations."""

    def on_object(self, *, obj: griffe.Object, **_: Any) -> None:
        """Change the docstring of an object that has one."""
        if obj.docstring:
            obj.docstring.value = fenced(obj.docstring.value)


def fenced(docstring: str) -> str:
    """Return a docstring with a fence around each example.

    >>> print(fenced("Return it.\\n\\n>>> 1 + 1\\n2"))
    Return it.
    <BLANKLINE>
    ```pycon
    >>> 1 + 1
    2
    ```
    """
    return DOCTEST.sub(lambda match: f"```pycon\n{match[0]}\n```", docstring)
