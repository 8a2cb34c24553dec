"""How time and memory are measured."""

import ctypes
import gc
import os
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from holdfast._support.threads import for_each

__all__ = [
    "OutsideLoad",
    "extra_memory",
    "interleaved",
    "peak_beyond",
    "reading_time",
    "relative_distance",
    "seconds_of",
]

#: A call slower than this needs no warm-up: its first time counts.
SLOW = 5.0
MOST_TURNS, REPEAT_FOR = 9, 1.5
#: A turn calls for so long, at least once: one short call after a pause would time the waking of threads.
TURN, MOST_CALLS = 0.02, 50


def seconds_of(call: Callable[[], Any]) -> tuple[float, Any]:
    """Return how long the call took, and what it returned."""
    start = time.perf_counter()
    result = call()
    return time.perf_counter() - start, result


def interleaved(
    call: Callable[[], Any], reference: Callable[[], Any], *, repeat_for: float = REPEAT_FOR
) -> dict[str, Any]:
    """Return the call's time, alone and as a ratio to the reference, called by turns: medians and quartiles.

    A slow call is made once or twice. The first result is under "result".
    """
    seconds_of(reference)
    first, result = seconds_of(call)
    watch = OutsideLoad()
    started = time.perf_counter()
    times, references = [], []
    if first > SLOW:
        times.append(first)
        references.append(turn(reference))
        repeat_for -= first
    while not times or (len(times) < MOST_TURNS and time.perf_counter() - started + first < repeat_for):
        references.append(turn(reference))
        times.append(turn(call))
    ratios = [a / b for a, b in zip(times, references, strict=True)]
    return {
        "seconds": statistics.median(times),
        "seconds_quartiles": quartiles(times),
        "reference_seconds": statistics.median(references),
        "ratio": statistics.median(ratios),
        "ratio_quartiles": quartiles(ratios),
        "n_turns": len(times),
        "outside_load": watch.cores(),
        "result": result,
    }


def turn(call: Callable[[], Any]) -> float:
    """Return the median time of a few calls in a row, begun when no thread of the last turn is busy."""
    settle()
    times = [seconds_of(call)[0]]
    while sum(times) < TURN and len(times) < MOST_CALLS:
        times.append(seconds_of(call)[0])
    return statistics.median(times)


def settle(limit: float = 0.2) -> None:
    """Wait until this process is idle: OpenBLAS's threads spin for some 25 ms after their work is done."""
    end = time.perf_counter() + limit
    while time.perf_counter() < end:
        busy = time.process_time()
        time.sleep(0.004)
        if time.process_time() - busy < 0.001:
            return


class OutsideLoad:
    """Counts how many cores other processes kept busy since it was made.

    torch's threads wait for each other: with one core taken, a mean of 0.4 ms lasts 20, and a ratio to it
    says nothing. So every time is stored with the load it was measured under.
    """

    def __init__(self) -> None:
        self.started, self.others = time.perf_counter(), self._others()

    def cores(self) -> float:
        """Return the cores' worth of work that others did."""
        elapsed = time.perf_counter() - self.started
        return max(0.0, self._others() - self.others) / elapsed

    @staticmethod
    def _others() -> float:
        stat = Path("/proc/stat")
        if not stat.exists():
            return 0.0
        user, nice, system, _, _, irq, softirq, steal = map(int, stat.read_text().split()[1:9])
        busy = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
        return busy - sum(os.times()[:4])


def reading_time(rows: list[NDArray[Any]], *, n_times: int = 5) -> float:
    """Return the shortest time in which all threads read every value once: less no rule can take."""
    return min(seconds_of(lambda: for_each(np.max, rows))[0] for _ in range(n_times))


def quartiles(values: list[float]) -> list[float]:
    return [float(value) for value in np.quantile(values, [0.25, 0.75])]


def extra_memory(call: Callable[[], Any]) -> int:
    """Return the bytes the call held at its peak beyond what was there before, and beyond its result.

    Linux counts the peak exactly, and starts anew on request: nothing is missed between samples.
    """
    peak, result = peak_beyond(call)
    return max(0, peak - np.asarray(result).nbytes)


def peak_beyond(call: Callable[[], Any]) -> tuple[int, Any]:
    """Return the bytes the call held at its peak beyond what was there before, and what it returned."""
    _give_back()
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    result = call()
    return max(0, _status("VmHWM") - before), result


def _give_back() -> None:
    """Return freed memory to the system: what the call would take of it would not be counted."""
    gc.collect()
    trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
    if trim is not None:
        trim(0)


def _status(field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.M)
    assert found is not None
    return 1024 * int(found[1])


def relative_distance(result: Any, expected: Any) -> float:
    """Return the distance between two results, relative to the length of the expected one."""
    expected = np.asarray(expected, dtype=np.float64)
    return float(np.linalg.norm(np.asarray(result, dtype=np.float64) - expected) / np.linalg.norm(expected))
