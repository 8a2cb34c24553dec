"""Names that users type, and what they may have meant."""

import difflib
from collections.abc import Iterable

__all__ = ["nearest"]


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "did you mean ...? " for a misspelt name, or nothing if none is near.

    >>> nearest("aplha", ["alpha", "tau"])
    "did you mean 'alpha'? "
    >>> nearest("momentum", ["alpha", "tau"])
    ''
    """
    found = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"did you mean {found[0]!r}? " if found else ""
