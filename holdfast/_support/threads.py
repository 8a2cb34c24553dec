"""How many threads a pass over the updates uses. One setting: HOLDFAST_THREADS."""

import os
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cache
from typing import TypeVar

from ..errors import InputError

__all__ = ["for_each", "in_order", "in_parts", "n_shared", "n_threads"]

T = TypeVar("T")
R = TypeVar("R")

HELPER = "holdfast helper"


def n_threads() -> int:
    """Return HOLDFAST_THREADS if set, else every core this process may use.

    Without it, OMP_NUM_THREADS is an upper limit: pools such as Ray's give it to their workers, which share
    the cores.
    """
    wanted = os.environ.get("HOLDFAST_THREADS")
    if wanted is not None:
        if not wanted.isdecimal() or int(wanted) < 1:
            raise InputError(f"HOLDFAST_THREADS must be a whole number of at least 1; got {wanted!r}")
        return int(wanted)
    affinity = getattr(os, "sched_getaffinity", None)
    cores = len(affinity(0)) if affinity else os.cpu_count() or 1
    limit = os.environ.get("OMP_NUM_THREADS", "").partition(",")[0]
    return max(1, min(cores, int(limit))) if limit.isdecimal() else cores


def in_order(work: Callable[[T], R], items: Iterable[T], *, n_workers: int | None = None) -> Iterator[R]:
    """Yield work(item) for each item, in order, done by several threads with few results waiting.

    >>> list(in_order(abs, [-1, 2, -3]))
    [1, 2, 3]
    """
    items = list(items)
    n_workers = min(n_workers or n_threads(), len(items))
    if n_workers <= 1:
        yield from map(work, items)
        return
    with ThreadPoolExecutor(n_workers, thread_name_prefix="holdfast") as pool:
        waiting: deque[Future[R]] = deque()
        for item in items:
            waiting.append(pool.submit(work, item))
            if len(waiting) > 2 * n_workers:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()


def for_each(work: Callable[[T], object], items: Iterable[T]) -> None:
    """Do the work on each item; each thread takes the next one, and the caller's is one of them.

    The others wait for the next call: to start them costs as much as short work does. Even to wake one takes
    50 microseconds; if all is done by then, nobody waits for it. What the work itself deals out is shared by
    the threads that are left over for each: of four threads and two items, two.

    >>> found = set()
    >>> for_each(found.add, [1, 2, 3])
    >>> found
    {1, 2, 3}
    """
    dealt, share, path = list(items), n_shared(), getattr(_inside, "path", ())
    n, left = max(1, min(share, len(dealt))), iter(dealt)

    def work_on(first: int) -> None:
        before = _inside.__dict__.copy()
        if n > 1:
            _inside.share, _inside.path = share // n, (*path, first)
        try:
            for item in left:
                work(item)
        finally:
            _inside.__dict__.clear()
            _inside.__dict__.update(before)

    waiting = [_helpers(n - 1, path).submit(work_on, first) for first in range(1, n)]
    try:
        work_on(0)
        waiting = [one for one in waiting if not one.cancel()]
    finally:
        wait(waiting)
    for one in waiting:
        one.result()


def in_parts(work: Callable[[slice], object], n: int) -> None:
    """Do the work on n items, which are cut into one part for each thread.

    >>> doubled = [1, 2, 3]
    >>> in_parts(lambda part: doubled.__setitem__(part, [2 * item for item in doubled[part]]), 3)
    >>> doubled
    [2, 4, 6]
    """
    step = max(1, -(-n // n_shared()))
    for_each(work, [slice(start, min(start + step, n)) for start in range(0, n, step)])


def n_shared() -> int:
    """Return how many threads the caller may use: all of them, or its share if its work was dealt out.

    >>> for_each(lambda item: print(n_shared() <= n_threads()), [1])
    True
    """
    share: int | None = getattr(_inside, "share", None)
    return n_threads() if share is None else share


#: Of a thread that works on what was dealt out: how many threads it may use, and which part it has of what.
_inside = threading.local()


@cache
def _helpers(n: int, path: tuple[int, ...]) -> ThreadPoolExecutor:
    """Return threads that wait for work; those at work on an item never wait for each other's helpers."""
    return ThreadPoolExecutor(n, thread_name_prefix=HELPER)


if hasattr(os, "register_at_fork"):  # threads do not survive a fork
    os.register_at_fork(after_in_child=_helpers.cache_clear)
