"""Runs the plan: one process a group, what is known already left out, what would be too large skipped."""

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path

from .budget import CASE_LIMIT, available_memory, objection
from .cases import Case, Store, is_disturbed

__all__ = ["run"]

ROOT = Path(__file__).parent.parent
THREAD_SETTINGS = ("HOLDFAST_THREADS", "OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
DEATHS = {
    -signal.SIGALRM: f"stopped after {CASE_LIMIT} s",
    -signal.SIGKILL: "killed, most likely for want of memory",
}


def run(groups: list[list[Case]], store: Store, *, report: Callable[[Case, bool], None]) -> None:
    """Measure what is not in the store, or was disturbed; report(case, is_done) before and after each."""
    for group in groups:
        waiting = []
        for case in group:
            known = store.get(case)
            if known is None or is_disturbed(known):
                reason = objection(case, store, available=available_memory())
                if reason is None:
                    waiting.append(case)
                    continue
                store.put(case, "skipped", reason=reason)
            report(case, True)
        while waiting:
            n_done, death = _work(waiting, store, report)
            if death is not None:
                store.put(waiting[n_done], "failed", reason=death)
                report(waiting[n_done], True)
                n_done += 1
            waiting = waiting[n_done:]


def _work(cases: list[Case], store: Store, report: Callable[[Case, bool], None]) -> tuple[int, str | None]:
    """Start a worker on the cases; return how many it finished and, if it died, of what."""
    task = json.dumps([asdict(case) for case in cases])
    command = [sys.executable, "-m", "benchmarks.worker", task, str(store.folder.resolve())]
    threads = cases[0].threads
    settings = dict.fromkeys(THREAD_SETTINGS, str(threads)) if threads else {}
    n_done = 0
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command,
            cwd=ROOT,
            env={**os.environ, **settings},
            stdout=subprocess.PIPE,
            stderr=errors,
            text=True,
        ) as worker,
    ):
        assert worker.stdout is not None
        for line in worker.stdout:
            word, _, number = line.strip().partition(" ")
            if word in ("start", "done") and number.isdecimal():
                report(cases[int(number)], word == "done")
                n_done += word == "done"
        status = worker.wait()
        if status and status not in DEATHS:
            errors.seek(0)
            raise RuntimeError(f"a worker ended with status {status}:\n{errors.read()[-4000:]}")
    return n_done, DEATHS.get(status)
