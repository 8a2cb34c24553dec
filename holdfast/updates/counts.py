"""Sample counts as clients claim them: what can be one, and what it may buy."""

from collections.abc import Sequence
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.printable import printable
from .layout import Unfit

__all__ = ["MAX_EXAMPLES", "balanced_counts", "capped_counts", "examples_held", "largest_count"]

Counts = NDArray[np.float64]

#: More examples than a client can hold: a count above it is a lie.
MAX_EXAMPLES = 100_000_000
#: No client counts for more than so many times the median client.
MEDIANS = 10
#: Half as many clients as a rule stands count for no more than this part of the weight that it stands. Where
#: that is half, no quarter counts for more than 45%: whatever they claim, the others outweigh them, and a
#: weighted geometric median stays within eleven honest radii.
MOST = 0.9
#: No single client counts for more than so many times the share that all would have with equal counts.
SHARES = 3


def examples_held(count: Any) -> float:
    """Return a sample count as a client sent it, if it can be one; else raise Unfit."""
    try:
        examples = float(count) if isinstance(count, Real | np.number) else np.nan
    except (OverflowError, TypeError):  # an integer beyond all floats, a complex number
        examples = np.nan
    if not 0 <= examples <= MAX_EXAMPLES:
        is_number = isinstance(count, Real | np.number)
        said = printable(count, limit=30) if is_number else type(count).__name__
        raise Unfit(f"impossible sample count: {said}, not a number in 0 to {MAX_EXAMPLES}")
    return examples


def capped_counts(counts: Counts, clients: Sequence[Any]) -> tuple[Counts, tuple[str, ...]]:
    """Return sample counts of at most ten medians, and a note that names the clients who claim more.

    >>> capped_counts(np.array([5.0, 7.0, 1e8]), ("ann", "bob", "eve"))[0]
    array([ 5.,  7., 70.])
    """
    held = counts[counts > 0]
    limit = MEDIANS * float(np.median(held)) if len(held) else np.inf
    return _cut(counts, clients, limit, f"no client counts for more than {MEDIANS} times the median")


def balanced_counts(
    counts: Counts, clients: Sequence[Any], *, withstood: float = 0.5
) -> tuple[Counts, tuple[str, ...]]:
    """Return sample counts that no few clients outweigh all others with, and a note on who claims more.

    No quarter of the clients (one of three to seven) counts for more than 45% of all examples, and no client
    for more than three times its equal share. For a rule that withstands less than half of the weight, the
    first limit is for half of that share of the clients, and 90% of it.

    >>> balanced_counts(np.array([50.0, 60.0, 700.0]), ("ann", "bob", "eve"))[0].round()
    array([50., 60., 90.])
    """
    few = "quarter" if withstood == 0.5 else f"{withstood / 2:.0%}"
    law = (
        f"no {few} of the clients counts for more than {MOST * withstood:.0%} of all examples, and no client"
        f" for more than {SHARES} times its equal share"
    )
    return _cut(counts, clients, largest_count(counts, withstood=withstood), law)


def largest_count(counts: Counts, *, withstood: float = 0.5) -> float:
    """Return what a client may count for if no few are to outweigh the rest; infinity: whatever it is."""
    heaviest = np.sort(counts[counts > 0])[::-1]
    n = len(heaviest)
    n_few = max(1, int(n * withstood / 2 + 1e-9))

    def outweighs(limit: float) -> bool:
        counted = np.minimum(heaviest, limit)
        total = counted.sum()
        return bool(counted[:n_few].sum() > MOST * withstood * total or n * counted[0] > SHARES * total)

    if n < 3 or not outweighs(np.inf):  # one of two has half, whatever it claims
        return np.inf
    low, limit = 0.0, float(heaviest[0])
    for _ in range(60):  # halved so often, the range is as small as the last digit
        middle = (low + limit) / 2
        low, limit = (low, middle) if outweighs(middle) else (middle, limit)
    return max(low, float(heaviest[-1]))  # of very few clients, all count the same, and that is too much


def _cut(counts: Counts, clients: Sequence[Any], limit: float, law: str) -> tuple[Counts, tuple[str, ...]]:
    above = np.flatnonzero(counts > limit)
    if not len(above):
        return counts, ()
    some = ", ".join(printable(clients[row]) for row in above[:5]) + (", ..." if len(above) > 5 else "")
    note = f"sample counts above {limit:g} count as {limit:g}: of client {some}; {law}"
    return np.minimum(counts, limit), (note,)
