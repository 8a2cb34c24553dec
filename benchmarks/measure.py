"""How time and memory are measured."""

import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

__all__ = ["extra_memory", "interleaved", "relative_distance", "seconds_of"]

#: A call slower than this needs no warm-up: its first time counts.
SLOW = 5.0
MOST_CALLS, REPEAT_FOR = 25, 12.0
#: After a call torch's threads spin for about a millisecond, which the next contender should not pay for.
PAUSE = 0.005


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
    times, references = [], []
    if first > SLOW:
        times.append(first)
        references.append(seconds_of(reference)[0])
    started = time.perf_counter() - first
    while not times or (len(times) < MOST_CALLS and time.perf_counter() - started + first < repeat_for):
        time.sleep(PAUSE)
        references.append(seconds_of(reference)[0])
        time.sleep(PAUSE)
        times.append(seconds_of(call)[0])
    ratios = [a / b for a, b in zip(times, references, strict=True)]
    return {
        "seconds": statistics.median(times),
        "seconds_quartiles": quartiles(times),
        "reference_seconds": statistics.median(references),
        "ratio": statistics.median(ratios),
        "ratio_quartiles": quartiles(ratios),
        "n_calls": len(times),
        "result": result,
    }


def quartiles(values: list[float]) -> list[float]:
    return [float(value) for value in np.quantile(values, [0.25, 0.75])]


def extra_memory(call: Callable[[], Any]) -> int:
    """Return the bytes the call held at its peak beyond what was there before, and beyond its result.

    Linux counts the peak exactly, and starts anew on request: nothing is missed between samples.
    """
    Path("/proc/self/clear_refs").write_text("5")
    before = _status("VmRSS")
    result = np.asarray(call())
    return max(0, _status("VmHWM") - before - result.nbytes)


def _status(field: str) -> int:
    found = re.search(rf"^{field}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.M)
    assert found is not None
    return 1024 * int(found[1])


def relative_distance(result: Any, expected: Any) -> float:
    """Return the distance between two results, relative to the length of the expected one."""
    expected = np.asarray(expected, dtype=np.float64)
    return float(np.linalg.norm(np.asarray(result, dtype=np.float64) - expected) / np.linalg.norm(expected))
