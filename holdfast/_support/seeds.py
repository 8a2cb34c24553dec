"""Seeds, as a number of them or one by one."""

from collections.abc import Iterable

from ..errors import InputError
from .counting import check_whole

__all__ = ["seeds_of"]


def seeds_of(given: int | str | Iterable[int]) -> tuple[int, ...]:
    """Return the seeds: 3 or "3" are the first three, "3,5,7" those, "5," that one alone.

    >>> seeds_of(3), seeds_of("3,5,7"), seeds_of("5,"), seeds_of([8, 9])
    ((0, 1, 2), (3, 5, 7), (5,), (8, 9))
    >>> seeds_of("3;5")
    Traceback (most recent call last):
    holdfast.errors.InputError: seeds are how many, such as 3, or which, such as 3,5,7; got '3;5'
    """
    if isinstance(given, str):
        words = [word.strip() for word in given.split(",")]
        if words[-1:] == [""]:
            words.pop()
        if not words or not all(word.isdecimal() for word in words):
            raise InputError(f"seeds are how many, such as 3, or which, such as 3,5,7; got {given!r}")
        return seeds_of(int(given) if "," not in given else [int(word) for word in words])
    if isinstance(given, Iterable):
        seeds = tuple(given)
        for seed in seeds:
            check_whole("a seed", seed, at_least=0)
        if not seeds or len(set(seeds)) < len(seeds):
            raise InputError(f"seeds must be at least one, each once; got {seeds}")
        return seeds
    check_whole("seeds", given, at_least=1)
    return tuple(range(given))
