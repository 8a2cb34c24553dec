"""Runs on local worker processes, or on a Ray cluster. What comes out never depends on how many there are.

Every worker makes one run at a time, whole, on one torch thread. Results go into the folder, so nothing that
was finished is lost when a worker, or everything, is killed.
"""

import logging
from collections.abc import Generator, Iterable
from contextlib import closing
from pathlib import Path

from ..._support.counting import check_whole
from ..._support.threads import n_threads
from ...errors import InputError
from ...lab.scenario import Run
from ..recording import find_current
from .here import make_here, travels
from .local import make_locally
from .on_ray import make_on_ray
from .step import Step

__all__ = ["Step", "make_runs"]

log = logging.getLogger("holdfast")


def make_runs(
    runs: Iterable[Run],
    folder: Path,
    *,
    n_workers: int | None = None,
    device: str = "cpu",
    ray: str | None = None,
    stop_at_error: bool = True,
) -> Generator[Step, None, None]:
    """Make the runs that the folder does not hold yet, several at a time, and yield the news of all of them.

    The first run that cannot be made stops the others, with an InputError that names it, unless
    `stop_at_error` is off: then its last news says why. By default there is one worker per core; where no
    worker could import a run's functions, as those of a notebook, all runs are made in this process. So they
    are for functions of the script that runs, unless it calls this under `if __name__ == "__main__":`. With
    `ray` the workers are actors of a Ray cluster: "ray" for the one at hand, else a new local one, or an
    address such as "ray://host:10001"; the files still come into this folder, on this machine.

    >>> list(make_runs([], Path("results")))
    []
    """
    missing = []
    for run in {run.key: run for run in runs}.values():
        result, unusable = find_current(run, folder)
        for reason in unusable if ray else ():  # local workers tell of it themselves
            log.warning("%s", reason)
        if result is not None and result.finished:
            yield Step(run.key, run.task.n_rounds, finished=True)
        else:
            missing.append(run)
    if not missing:
        return
    if n_workers is not None:
        check_whole("n_workers", n_workers, at_least=1)
    if ray is None and not all(map(travels, missing)):
        news = make_here(missing, folder, device=device)
    elif ray is None:
        n_workers = min(n_workers or n_threads(), len(missing))
        news = make_locally(missing, folder, n_workers=n_workers, device=device)
    else:
        news = make_on_ray(missing, folder, address=ray, n_workers=n_workers, device=device)
    with closing(news):
        for step in news:
            if step.error and stop_at_error:
                raise InputError(step.error)
            yield step
