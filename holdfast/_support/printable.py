"""What strangers wrote, as text that can be shown."""

from typing import Any

__all__ = ["printable"]


def printable(given: Any, *, limit: int = 80) -> str:
    r"""Return anything as one short line for a terminal, a log or a page: what no screen shows is escaped.

    That goes for line breaks, colours, invisible and reversing characters, and halves of characters that
    cannot be encoded. The same again of what it returned is the same text.

    >>> print(printable("loss\x1b[2J\nnode 7: fine \ud800"))
    loss\x1b[2J\nnode 7: fine \ud800
    >>> printable("a" * 900_000, limit=10)
    'aaaaaaa...'
    """
    try:
        text = str(given)
    except Exception:  # whatever a stranger's object raises: an integer of 5,000 digits is enough
        text = f"<{type(given).__name__}>"
    shown = "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text[: limit + 1]
    )
    return shown if len(shown) <= limit else f"{shown[: limit - 3]}..."
