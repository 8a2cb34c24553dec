"""The runs that experiments still need: which there are, how long they take, and how they are made."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..errors import DataError
from ..lab.data.weights import find_weights
from ..lab.scenario import Run
from ..runs.pace import Pace, TimeLeft
from ..runs.parallel import make_runs
from ..runs.recording import data_checksum, find_current
from ..runs.store import files_of
from .experiment import Experiment, runs_folder, runs_of, stored_results

__all__ = ["Progress", "RunPlan", "make_missing", "plan_runs"]

#: How often the time that is left is estimated anew: that costs more than the news of a round.
SECONDS = 1.0


@dataclass(frozen=True, eq=False)
class RunPlan:
    """All runs behind some experiments, and what is missing of them.

    >>> plan_runs([], Path("results")).missing
    {}
    """

    runs: Mapping[str, Run]
    missing: Mapping[str, Run]  # those that can be made here, the first seed of all before the second of any
    n_done: Mapping[str, int]  # [key] rounds that are stored of a run
    without_data: Mapping[str, str]  # [task] why its data cannot be had
    unusable: Mapping[str, str]  # [key] why what is stored of a run is not used
    pace: Pace

    def time_left(self, n_workers: int) -> TimeLeft:
        """Return how long the missing runs take."""
        return self.pace.time_left(self.missing, self.n_done, n_workers=n_workers)


@dataclass(frozen=True)
class Progress:
    """How far the missing runs have come; `failed` says by key why a run cannot be made."""

    n_rounds: int
    n_finished: int
    left: TimeLeft
    failed: Mapping[str, str]


def plan_runs(
    experiments: Sequence[Experiment],
    folder: Path,
    *,
    tasks: Iterable[str] | None = None,
    paced_by: Iterable[Experiment] = (),
) -> RunPlan:
    """Return what these experiments still need, of these tasks only where they are given.

    How long it takes is told by what is stored of them, and of the experiments they are `paced_by`.

    >>> from holdfast.paper import experiments_named
    >>> len(plan_runs(experiments_named(["table8"], n_seeds=1), Path("nowhere"), tasks=["digits"]).missing)
    5
    """
    runs, near = runs_of(experiments), runs_of([*experiments, *paced_by])
    found, _ = stored_results(near, folder)
    pace = Pace()
    for key, result in found.items():
        pace.add(near[key], n_rounds=result.n_done, seconds=sum(filter(None, result.series("seconds"))))
    wanted = None if tasks is None else set(tasks)
    asked = {
        key: run
        for key, run in sorted(runs.items(), key=lambda item: item[1].seed)
        if wanted is None or run.task.name in wanted
    }
    found, unusable = stored_results(asked, folder, find=find_current)
    absent = {key: run for key, run in asked.items() if key not in found or not found[key].finished}
    without = _without_data(absent.values())
    return RunPlan(
        runs,
        {key: run for key, run in absent.items() if run.task.name not in without},
        {key: result.n_done for key, result in found.items()},
        without,
        unusable,
        pace,
    )


def make_missing(
    plan: RunPlan,
    folder: Path,
    *,
    n_workers: int,
    ray: str | None = None,
    device: str = "cpu",
    keep_models: bool = False,
) -> Iterator[Progress]:
    """Make what is missing, and yield how far it has come; what cannot be made stops nothing else.

    >>> list(make_missing(plan_runs([], Path("nowhere")), Path("nowhere"), n_workers=1))
    []
    """
    unfinished, left, told = dict(plan.missing), plan.time_left(n_workers), -SECONDS
    done = {key: plan.n_done.get(key, 0) for key in plan.missing}
    times: dict[str, tuple[float, int]] = {}  # [key] when its last news came, and how many rounds it had
    failed: dict[str, str] = {}
    n_finished = 0
    where = runs_folder(folder)
    news = make_runs(
        plan.missing.values(), where, n_workers=n_workers, ray=ray, device=device, stop_at_error=False
    )
    for step in news:
        run, now = plan.missing[step.key], time.perf_counter()
        if step.key in times and step.round > times[step.key][1]:
            before, n_before = times[step.key]
            plan.pace.add(run, n_rounds=step.round - n_before, seconds=now - before)
        times[step.key], done[step.key] = (now, step.round), step.round
        if step.error:
            failed[step.key] = step.error
        if step.finished and not keep_models:
            files_of(run.key, where).model.unlink(missing_ok=True)
        if step.finished or step.error:
            n_finished += step.finished
            del unfinished[step.key]
        if now - told >= SECONDS or not unfinished:
            left, told = plan.pace.time_left(unfinished, done, n_workers=n_workers), now
        yield Progress(sum(done.values()), n_finished, left, dict(failed))


def _without_data(runs: Iterable[Run]) -> dict[str, str]:
    """Return the tasks whose data or weights cannot be had on this machine, and why."""
    without: dict[str, str] = {}
    for name, task in {run.task.name: run.task for run in runs}.items():
        try:
            if weights := dict(task.model.settings).get("weights"):
                find_weights(weights)
            data_checksum(task.data)
        except DataError as error:
            without[name] = str(error)
    return without
