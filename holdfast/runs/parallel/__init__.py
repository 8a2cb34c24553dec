"""Runs on local worker processes, or on a Ray cluster. What comes out never depends on how many there are.

Every worker makes one run at a time, whole, on one torch thread. Results go into the folder, so nothing that
was finished is lost when a worker, or everything, is killed.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path

from ..._support.counting import check_whole
from ..._support.threads import n_threads
from ...errors import DataError, InputError
from ...lab.scenario import Run
from ..results import load_result
from .local import LocalWorker
from .on_ray import RayWorker, connected
from .step import Step, Worker

__all__ = ["Step", "make_runs"]


def make_runs(
    runs: Iterable[Run],
    folder: Path,
    *,
    n_workers: int | None = None,
    device: str = "cpu",
    ray: str | None = None,
    stop_at_error: bool = True,
) -> Iterator[Step]:
    """Make the runs that the folder does not hold yet, several at a time, and yield the news of all of them.

    The first run that cannot be made stops the others, with an InputError that names it, unless
    `stop_at_error` is off: then its last news says why. By default there are as many workers as cores. With
    `ray` they are actors of a Ray cluster: "ray" for the one at hand, else a new local one, or an address as
    "ray://host:10001"; the files still come into this folder, on this machine. A script that calls this needs
    the usual `if __name__ == "__main__":`.

    >>> list(make_runs([], Path("results")))
    []
    """
    waiting = []
    for run in {run.key: run for run in runs}.values():
        if _is_finished(run, folder, device):
            yield Step(run.key, run.task.n_rounds, finished=True)
        else:
            waiting.append(run)
    if not waiting:
        return
    if n_workers is not None:
        check_whole("n_workers", n_workers, at_least=1)
    if ray is None:
        n_workers = min(n_workers or n_threads(), len(waiting))
        yield from _made(waiting, [LocalWorker(folder, device) for _ in range(n_workers)], stop_at_error)
        return
    with connected(ray) as n_cores:
        n_workers = min(n_workers or n_cores, len(waiting))
        yield from _made(waiting, [RayWorker(folder, device) for _ in range(n_workers)], stop_at_error)


def _made(waiting: list[Run], workers: list[Worker], stop_at_error: bool) -> Iterator[Step]:
    """Hand out the runs, and yield the news of the workers as they come."""
    try:
        busy = []
        for worker in workers:
            worker.begin(waiting.pop(0))
            busy.append(worker)
        while busy:
            for worker in busy[0].ready(busy):
                step = worker.news()
                if step.error and stop_at_error:
                    raise InputError(step.error)
                yield step
                if step.finished or step.error:
                    if waiting:
                        worker.begin(waiting.pop(0))
                    else:
                        busy.remove(worker)
    finally:
        for worker in workers:
            worker.end()


def _is_finished(run: Run, folder: Path, device: str) -> bool:
    try:
        return load_result(run, folder, device=device).finished
    except DataError:  # whoever makes the run tells of a file that cannot be used
        return False
