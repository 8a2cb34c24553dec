"""Runs on local worker processes. What comes out never depends on how many there are.

Every worker makes one run at a time, whole, on one torch thread. Results go into the folder, so nothing that
was finished is lost when a worker, or everything, is killed.
"""

import multiprocessing
import os
import signal
import threading
from collections.abc import Iterable, Iterator
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any, NamedTuple

from .counting import check_whole
from .errors import DataError, HoldfastError, InputError
from .results import load_result, recorded
from .scenario import Run
from .threads import n_threads

__all__ = ["Step", "make_runs"]


class Step(NamedTuple):
    """News of a run: so many of its rounds are done.

    >>> Step("ab12", 3, False).round
    3
    """

    key: str
    round: int
    finished: bool


def make_runs(
    runs: Iterable[Run], folder: Path, *, n_workers: int | None = None, device: str = "cpu"
) -> Iterator[Step]:
    """Make the runs that the folder does not hold yet, several at a time, and yield the news of all of them.

    The first run that cannot be made stops the others, with an InputError that names it. By default there are
    as many workers as cores. A script that calls this needs the usual `if __name__ == "__main__":`.

    >>> list(make_runs([], Path("results")))
    []
    """
    waiting = []
    for run in {run.key: run for run in runs}.values():
        if _is_finished(run, folder, device):
            yield Step(run.key, run.task.n_rounds, finished=True)
        else:
            waiting.append(run)
    n_workers = min(n_threads() if n_workers is None else n_workers, len(waiting))
    if waiting:
        check_whole("n_workers", n_workers, at_least=1)
    workers = [_Worker(folder, device) for _ in range(n_workers)]
    try:
        busy = {worker.pipe: worker for worker in workers if worker.begin(waiting)}
        while busy:
            for pipe in wait(list(busy)):
                worker = busy[pipe]  # type: ignore[index]
                step = worker.news()
                yield step
                if step.finished and not worker.begin(waiting):
                    del busy[worker.pipe]
    finally:
        for worker in workers:
            worker.process.kill()
            worker.process.join()
            worker.pipe.close()


def _is_finished(run: Run, folder: Path, device: str) -> bool:
    try:
        return load_result(run, folder, device=device).finished
    except DataError:  # whoever makes the run tells of a file that cannot be used
        return False


class _Worker:
    """A process and the parent's end of the pipe to it."""

    def __init__(self, folder: Path, device: str) -> None:
        # Not forked: the threads of torch and numba do not survive that.
        context = multiprocessing.get_context("spawn")
        self.pipe, theirs = context.Pipe()
        self.process = context.Process(target=_work, args=(theirs, folder, device), daemon=True)
        self.process.start()
        theirs.close()
        self.run: Run | None = None

    def begin(self, waiting: list[Run]) -> bool:
        """Hand over the next run; return whether there was one."""
        if not waiting:
            return False
        self.run = waiting.pop(0)
        self.pipe.send(self.run)
        return True

    def news(self) -> Step:
        assert self.run is not None
        named = f"{self.run.defence.name} under attack {self.run.attack.name!r}, seed {self.run.seed}"
        try:
            said = self.pipe.recv()
        except (EOFError, OSError):
            raise HoldfastError(
                f"the worker process died while it made {named}; what was finished is stored, so do it again"
            ) from None
        if isinstance(said, str):
            raise InputError(f"{named}: {said}")
        step: Step = said
        return step


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
        try:
            for result in recorded(run, folder, device=device):
                pipe.send(Step(run.key, len(result.records), result.finished))
        except HoldfastError as error:
            pipe.send(str(error))


def _end_with_parent() -> None:
    """End this process when the parent is gone, even killed: nobody would know that it still writes."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)
