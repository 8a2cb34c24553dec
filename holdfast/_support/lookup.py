"""Names that users type, and what they may have meant."""

import re
from collections.abc import Iterable

__all__ = ["listed_by", "nearest", "offered"]

#: The fewest letters of a name that are taken for its first or last words.
FEWEST = 4


def nearest(name: str, known: Iterable[str]) -> str:
    """Return "did you mean ...? " for a misspelt or shortened name, or nothing if none is really near.

    >>> nearest("aplha", ["alpha", "tau"])
    "did you mean 'alpha'? "
    >>> nearest("edge", ["collude", "edge-case"])
    "did you mean 'edge-case'? "
    >>> nearest("foo", ["flood", "rfa"])
    ''
    """
    typed = _plain(name)
    ranked = sorted(known, key=lambda one: _edits(typed, _plain(one)))
    if ranked and _edits(typed, _plain(ranked[0])) <= min(3, len(typed) // 3):
        return f"did you mean {ranked[0]!r}? "
    if len(typed) >= FEWEST:
        for one in ranked:
            if _plain(one).startswith(typed) or _plain(one).endswith(f"-{typed}"):
                return f"did you mean {one!r}? "
    return ""


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


def listed_by(kind: str, n_known: int, *, own: str = "") -> str:
    """Return what to type to see all names of a kind, of which there are too many for a message.

    `own` is a file of the user's own that has some more.

    >>> listed_by("defences", 41)
    "'holdfast list defences' shows all 41"
    >>> listed_by("watches", 1, own="mine.py")
    "'holdfast list watches' shows the only one, 'holdfast list watches --from mine.py' your own"
    """
    command = f"holdfast list {kind}"
    number = f"all {n_known}" if n_known > 1 else "the only one"
    return f"'{command}' shows {number}" + (f", '{command} --from {own}' your own" if own else "")


def _plain(name: str) -> str:
    """Return the name in lower case, with one sign between its words."""
    return re.sub(r"[-_. ]+", "-", name.lower())


def _edits(first: str, second: str) -> int:
    """Return how many letters are to be changed, added, left out or swapped with the next one.

    >>> _edits("kurm", "krum"), _edits("foo", "flood")
    (1, 2)
    """
    above: list[int] = []
    row = list(range(len(second) + 1))
    for i, letter in enumerate(first, start=1):
        before, above, row = above, row, [i]
        for j, other in enumerate(second, start=1):
            best = min(above[j] + 1, row[-1] + 1, above[j - 1] + (letter != other))
            if i > 1 and j > 1 and letter == second[j - 2] and first[i - 2] == other:
                best = min(best, before[j - 2] + 1)
            row.append(best)
    return row[-1]
