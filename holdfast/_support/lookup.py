"""Names that users type, and what they may have meant."""

import difflib
from collections.abc import Iterable

__all__ = ["nearest", "offered"]


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "did you mean ...? " for a misspelt name, or nothing if none is near.

    >>> nearest("aplha", ["alpha", "tau"])
    "did you mean 'alpha'? "
    >>> nearest("momentum", ["alpha", "tau"])
    ''
    """
    found = difflib.get_close_matches(name, known, n=1, cutoff=0.6)
    return f"did you mean {found[0]!r}? " if found else ""


def offered(name: str, known: Iterable[str], *, lead: str = "There are", near: Iterable[str] = ()) -> str:
    """Return the end of a message about an unknown name: what was meant, and what there is to choose from.

    A misspelling of one of `near`, by default of those known, is recognised.

    >>> offered("aplha", ["alpha", "tau"])
    "; did you mean 'alpha'? There are: alpha, tau"
    >>> offered("momentum", ["alpha", "tau"], lead="It has")
    '; it has: alpha, tau'
    """
    names = list(known)
    hint = nearest(name, list(near) or names)
    start = lead if hint else lead[:1].lower() + lead[1:]
    return f"; {hint}{start}: {', '.join(names) or 'none'}"
