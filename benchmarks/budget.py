"""Which cases would take too long or too much memory, judged by smaller ones that are measured."""

import re
from pathlib import Path

from .cases import Case, Store, is_disturbed

__all__ = ["CALL_LIMIT", "CASE_LIMIT", "available_memory", "objection"]

CALL_LIMIT = 20.0  # seconds that a call may be expected to take
CASE_LIMIT = 120  # seconds after which a case is stopped, if the expectation was wrong


def objection(case: Case, store: Store, *, available: int) -> str | None:
    """Return why the case should not be run; None if nothing speaks against it."""
    seconds = _scaled(case, store, "time", "seconds")
    if seconds is not None and seconds > CALL_LIMIT:
        return f"a call would take about {seconds:.0f} s; the limit is {CALL_LIMIT:.0f} s"
    inputs = 4 * case.n_clients * case.dim
    # The rows, the matrix that some contenders take, and the contender's own needs.
    needed = 2 * inputs + (_scaled(case, store, "memory", "extra_bytes") or 0)
    if needed > 0.85 * available:
        return f"it would need about {needed / 2**30:.1f} GiB; {available / 2**30:.1f} GiB are free"
    return None


def _scaled(case: Case, store: Store, kind: str, field: str) -> float | None:
    """Return what the largest smaller case of the contender measured, grown with the number of elements."""
    n_elements = case.n_clients * case.dim
    found: tuple[int, float] | None = None
    for record in store.of(kind, case.contender):
        if is_disturbed(record):
            continue
        smaller = record["n_clients"] * record["dim"]
        if smaller <= n_elements and record["threads"] in (0, case.threads) and field in record:
            found = max(found or (0, 0.0), (smaller, record[field]))
    return None if found is None else found[1] * n_elements / found[0]


def available_memory() -> int:
    """Return the bytes that can be had without swapping."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text(), re.M)
    assert found is not None
    return 1024 * int(found[1])
