"""Numbers as the page shows them. Results may come from a stranger: what is no number is shown as a dash."""

import math
from collections.abc import Iterable, Mapping
from typing import Any

__all__ = ["ABSENT", "counted", "is_number", "level", "part", "percent", "seconds"]

ABSENT = "–"


def is_number(value: Any) -> bool:
    """Return whether it can be shown as a number.

    >>> is_number(0.5), is_number("0.5"), is_number(float("nan")), is_number(True)
    (True, False, False, False)
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def percent(share: Any) -> str:
    """Return a share in percent, to a tenth.

    >>> percent(0.9876), percent(None)
    ('98.8', '–')
    """
    return f"{100 * share:.1f}" if is_number(share) else ABSENT


def seconds(time: Any) -> str:
    """Return a time in seconds, to three digits.

    >>> seconds(0.01234), seconds("soon")
    ('0.0123 s', '–')
    """
    return f"{time:.3g} s" if is_number(time) else ABSENT


def level(share: Any) -> int | None:
    """Return a share in tenths, for the depth of a colour.

    >>> level(0.96), level(7.0), level(None)
    (10, 10, None)
    """
    return round(10 * min(max(share, 0.0), 1.0)) if is_number(share) else None


def counted(numbers: Iterable[int], thing: str) -> str:
    """Return how many, or from how few to how many.

    >>> counted([3, 3], "seed"), counted([1, 3], "seed"), counted([1], "seed"), counted([], "seed")
    ('3 seeds', '1 to 3 seeds', '1 seed', 'no seeds')
    """
    known = sorted(set(numbers))
    if not known or known == [0]:
        return f"no {thing}s"
    least, most = known[0], known[-1]
    return f"{most} {thing}{'s' * (most != 1)}" if least == most else f"{least} to {most} {thing}s"


def part(value: Any, name: str) -> Any:
    """Return what a mapping has under a name; None if it is no mapping, or has nothing there.

    >>> part({"mean": 0.5}, "mean"), part(None, "mean")
    (0.5, None)
    """
    return value.get(name) if isinstance(value, Mapping) else None
