"""Seeds as people write them: how many, or which."""

from collections.abc import Iterable
from numbers import Integral
from typing import Any

from ..errors import InputError

__all__ = ["seeds_of"]

MOST = 1000  # more runs per defence than anybody wants: the number was meant to be a seed


def seeds_of(seeds: int | str | Iterable[int]) -> tuple[int, ...]:
    """Return the seeds that a count means, or a list, or a text of either.

    >>> seeds_of(3), seeds_of("3"), seeds_of("3,5,7"), seeds_of("5,"), seeds_of([8, 9])
    ((0, 1, 2), (0, 1, 2), (3, 5, 7), (5,), (8, 9))
    >>> seeds_of("3,3")
    Traceback (most recent call last):
    holdfast.errors.InputError: seed 3 is given twice
    """
    listed: Any = seeds
    if isinstance(seeds, str):
        listed = seeds.strip().removesuffix(",").split(",") if "," in seeds else _whole(seeds)
    if not isinstance(listed, Iterable):
        n_seeds = _whole(listed)
        if n_seeds > MOST:
            raise InputError(f"at most {MOST} seeds; got {n_seeds}. For that one seed, write {n_seeds},")
        listed = range(n_seeds)
    found = tuple(map(_whole, listed))
    if not found:
        raise InputError("at least one seed is needed; got none")
    for place, seed in enumerate(found):
        if seed in found[:place]:
            raise InputError(f"seed {seed} is given twice")
    return found


def _whole(value: Any) -> int:
    """Return a whole number of at least 0, given as such or in digits."""
    if isinstance(value, str) and value.strip().isascii() and value.strip().isdigit():
        value = int(value)
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 0:
        raise InputError(f"seeds are how many, as in 3, or which, as in 3,5,7; got {value!r}")
    return int(value)
