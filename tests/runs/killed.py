"""A process whose children are killed: python -m tests.runs.killed FOLDER.

For every line it reads it forks a process that makes the run; torch is imported once for all of them.
"""

import os
import sys
from pathlib import Path

from holdfast.lab.simulation import simulate
from holdfast.runs.recording import run_and_record

from .tiny import tiny_run

RUN = tiny_run("factions+sparsefed", "edge-case+adaptive", n_rounds=120, kept=0.1)


def make(folder):
    """Make the run, and say when it has begun to write."""
    for number, _ in enumerate(run_and_record(RUN, folder, every=2)):
        if number == 1:
            print("begun", flush=True)


if __name__ == "__main__":
    os.environ["HOLDFAST_THREADS"] = "1"
    next(simulate(RUN))  # loads what the first round loads, once for all of them
    for _ in sys.stdin:
        child = os.fork()
        if child == 0:
            make(Path(sys.argv[1]))
            os._exit(0)
        print(child, flush=True)
        _, status = os.waitpid(child, 0)
        print(os.waitstatus_to_exitcode(status), flush=True)
