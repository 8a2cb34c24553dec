"""Pages in Markdown as a reader takes them: their blocks, the files that they name, the commands to type."""

import re
import shlex
from typing import NamedTuple


class Block(NamedTuple):
    """A fenced block of a page: its language, its text, and the line of prose above it."""

    language: str
    text: str
    above: str


def blocks(page, language=None, *, section=None):
    """Return the blocks of a page, or of one section of it, in their order."""
    text = page.read_text(encoding="utf-8")
    if section is not None:
        (text,) = re.findall(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.M | re.S)
    found = re.findall(r"(?:^([^\n`#|-][^\n]*|`[^\n]*)\n)?\n*^```(\w+)\n(.*?)^```$", text, re.M | re.S)
    return [Block(kind, code, above) for above, kind, code in found if language in (None, kind)]


def files(page, *, section=None):
    """Return the files that a page tells its reader to write: name and content."""
    named = [(re.match(r"`([\w./-]+)`:", block.above), block.text) for block in blocks(page, section=section)]
    return {found[1]: text for found, text in named if found}


def commands(page, *, section=None):
    """Return every command of a page's shell blocks, as words; continued lines are one, comments none."""
    lines = [
        line
        for block in blocks(page, "bash", section=section)
        for line in block.text.replace("\\\n", " ").splitlines()
    ]
    return [words for line in lines if (words := shlex.split(line, comments=True))]
