"""Worker processes on this machine."""

import multiprocessing
import os
import signal
import threading
from collections.abc import Sequence
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from ...errors import HoldfastError
from ...lab.scenario import Run
from ..results import run_and_record
from .step import Step, named

__all__ = ["LocalWorker"]


class LocalWorker:
    """A process and the parent's end of the pipe to it."""

    def __init__(self, folder: Path, device: str) -> None:
        """Start the process."""
        # Not forked: the threads of torch and numba do not survive that.
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, folder, device), daemon=True)
        self.process.start()
        theirs.close()
        self.run: Run | None = None

    def begin(self, run: Run) -> None:
        """Hand over a run."""
        self.run = run
        self.pipe.send(run)

    def ready(self, busy: Sequence["LocalWorker"]) -> list["LocalWorker"]:
        """Wait for news of any."""
        heard = set(wait([worker.pipe for worker in busy]))
        return [worker for worker in busy if worker.pipe in heard]

    def news(self) -> Step:
        """Return what the process says."""
        assert self.run is not None
        try:
            step: Step = self.pipe.recv()
        except (EOFError, OSError):
            raise HoldfastError(
                f"the worker process died while it made {named(self.run)}; what was finished is stored, so do"
                " it again"
            ) from None
        return step

    def end(self) -> None:
        """Kill the process."""
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _work(pipe: "Connection[Any, Any]", folder: Path, device: str) -> None:
    """Make the runs that come through the pipe, and tell of every round."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent ends us
    threading.Thread(target=_end_with_parent, daemon=True).start()
    os.environ["HOLDFAST_THREADS"] = "1"
    while True:
        try:
            run: Run = pipe.recv()
        except EOFError:
            return
        n_done = 0
        try:
            for result in run_and_record(run, folder, device=device):
                n_done = len(result.records)
                pipe.send(Step(run.key, n_done, result.finished))
        except HoldfastError as error:
            pipe.send(Step(run.key, n_done, finished=False, error=f"{named(run)}: {error}"))


def _end_with_parent() -> None:
    """End this process when the parent is gone, even killed: nobody would know that it still writes."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
