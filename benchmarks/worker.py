"""A process that measures a group of cases of one size, writing each down as soon as it is known.

Started by runner.py. Says "start <number>" and "done <number>" of each case.
"""

import json
import signal
import sys
from pathlib import Path
from typing import Any

from .budget import CASE_LIMIT
from .cases import Case, Store, is_disturbed
from .contenders import Contender, contenders, reference
from .data import Updates
from .first_call import first_call
from .measure import OutsideLoad, extra_memory, interleaved, reading_time, relative_distance

__all__ = ["measure_all"]

REFERENCE_FORM = "tensor"
N_ATTEMPTS = 3  # at a time when no other process is busy


def measure_all(cases: list[Case], store: Store, *, repeat_for: float | None = None) -> None:
    """Measure cases that share kind, size and threads; what a contender throws becomes its result."""
    known = {contender.name: contender for contender in contenders()[0]}
    first = cases[0]
    updates = Updates(first.n_clients, first.dim) if first.kind != "first_call" else None
    limit = reading_time(updates.rows) if updates is not None and first.kind == "time" else None
    for number, case in enumerate(cases):
        print("start", number, flush=True)
        # Ends the process even inside compiled code; the runner sees why, and continues with the next case.
        signal.alarm(CASE_LIMIT)
        contender = known[case.contender]
        try:
            if updates is None:
                watch = OutsideLoad()
                found = first_call(contender.rule, case.n_clients, case.dim)
                found["outside_load"] = watch.cores()
            elif case.kind == "memory":
                found = memory_of(contender, updates)
            else:
                found = time_of(contender, known[f"{contender.rule} holdfast"], updates, repeat_for)
                found["reading_seconds"] = limit
        except Exception as error:
            store.put(case, "failed", reason=f"{type(error).__name__}: {str(error).splitlines()[0][:160]}")
        else:
            store.put(case, "measured", **found)
        signal.alarm(0)
        print("done", number, flush=True)


def memory_of(contender: Contender, updates: Updates) -> dict[str, Any]:
    """Return the peak of what a call needs beyond its input and output."""
    n = len(updates.rows)
    call = contender.call(n)
    call(Updates(n, 1_000).given_as(contender.form))  # compiles and imports what is needed
    given = updates.given_as(contender.form)
    extra = extra_memory(lambda: call(given))
    return {"extra_bytes": extra, "extra_per_input": extra / (4 * n * updates.rows[0].size)}


def time_of(
    contender: Contender, ours: Contender, updates: Updates, repeat_for: float | None
) -> dict[str, Any]:
    """Return a call's time beside the reference's, and how far its result is from ours."""
    n, dim = len(updates.rows), updates.rows[0].size
    call, given = contender.call(n), updates.given_as(contender.form)
    mean, tensor = reference(), updates.given_as(REFERENCE_FORM)
    limits = {} if repeat_for is None else {"repeat_for": repeat_for}
    for _ in range(N_ATTEMPTS):
        found = interleaved(lambda: call(given), lambda: mean(tensor), **limits)
        if not is_disturbed(found) or found["seconds"] > 1:
            break
    expected = ours.call(n)(updates.given_as(ours.form))
    found["distance_from_holdfast"] = relative_distance(found.pop("result"), expected)
    return {**found, "nanoseconds_per_element": 1e9 * found["seconds"] / (n * dim)}


if __name__ == "__main__":
    measure_all([Case(**case) for case in json.loads(sys.argv[1])], Store(Path(sys.argv[2])))
