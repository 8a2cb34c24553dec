"""How time and memory grow with the number of clients and the size of their updates."""

import math
import time
import tracemalloc
from collections.abc import Callable, Mapping

import numpy as np

from ...core import Rule
from ...updates.rows import rows_of
from .certificate import Clause, failed, passed
from .rounds import crowd, decided

__all__ = ["exponent", "growth_judged", "memory", "seconds", "time_growth"]

#: The processor's time, where it is told finely enough: other work on the machine does not count.
clock = time.process_time if time.get_clock_info("process_time").resolution < 1e-4 else time.perf_counter
#: The sizes that are timed: clients at a fixed size of an update, and sizes of an update at fixed clients.
CLIENTS, FIXED_DIM = (8, 16, 32, 64), 1 << 12
DIMS, FIXED_N = (1 << 12, 1 << 14, 1 << 16), 16
#: A size is not timed if the one before took longer than this.
SECONDS = 1.0
#: Exponents beyond which a rule grows clearly faster than n² · dim.
MOST = {"clients": 2.5, "dim": 1.5}
#: The clients and the numbers in an update where memory is measured: small, for rules that take all pairs.
WEIGHED = (32, 1 << 12)
#: How many times the memory of all updates a rule may take beside them.
COPIES = 8


def time_growth(rule: Rule) -> Clause:
    """Find out by which power of clients and dimensions the time grows."""
    decided(rule, crowd(CLIENTS[0], FIXED_DIM))  # what is compiled is compiled now
    return growth_judged(
        _timed(lambda n: seconds(rule, n, FIXED_DIM), CLIENTS),
        _timed(lambda dim: seconds(rule, FIXED_N, dim), DIMS),
    )


def growth_judged(by_clients: Mapping[int, float], by_dim: Mapping[int, float]) -> Clause:
    """Return the clause for these times in seconds, by number of clients and by numbers in an update.

    >>> growth_judged({8: 1.0, 16: 4.0}, {1000: 1.0, 4000: 4.0}).verdict
    'pass'
    """
    grows = {"clients": exponent(by_clients), "dim": exponent(by_dim)}
    if all(grows[name] <= most for name, most in MOST.items()):
        return passed("time", "grows no faster than clients² · dimensions", **grows)
    powers = f"clients^{grows['clients']:.1f} · dimensions^{grows['dim']:.1f}"
    return failed("time", f"grows like {powers}, faster than clients² · dimensions", **grows)


def exponent(times: Mapping[int, float]) -> float:
    """Return the power of the size by which times grow; infinity if one size alone took too long.

    >>> round(exponent({10: 3.0, 20: 12.0, 40: 48.0}), 9)
    2.0
    """
    if len(times) < 2:
        return math.inf
    slope, _ = np.polyfit(np.log(list(times)), np.log(list(times.values())), 1)
    return float(slope)


def seconds(rule: Rule, n: int, dim: int) -> float:
    """Return how long a round takes, the shortest of five."""
    sent, taken = crowd(n, dim), []
    for _ in range(5):
        start = clock()
        decided(rule, sent)
        taken.append(clock() - start)
    return min(taken)


def _timed(run: Callable[[int], float], sizes: tuple[int, ...]) -> dict[int, float]:
    times: dict[int, float] = {}
    for size in sizes:
        times[size] = run(size)
        if times[size] > SECONDS:
            break
    return times


def memory(rule: Rule) -> Clause:
    """Find out how much memory a rule takes beside the updates, as a multiple of theirs."""
    sent = crowd(*WEIGHED)
    rows = rows_of(sent.rows)
    rule.run(rows, **sent.inputs())
    tracemalloc.start()
    try:
        rule.run(rows, **sent.inputs())
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    copies = peak / sent.rows.nbytes
    if copies > COPIES:
        return failed(
            "memory", f"takes {copies:.0f} times the memory of the updates, beside them", copies=copies
        )
    most = math.ceil(copies)
    bound = (
        "no more memory than the updates" if most <= 1 else f"at most {most} times the memory of the updates"
    )
    return passed("memory", f"takes {bound}, beside them", copies=copies)
