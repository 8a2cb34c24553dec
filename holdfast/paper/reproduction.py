"""The runs that experiments still need: which there are, how long they take, and how they are made."""

import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..core import Bound
from ..errors import DataError
from ..lab.scenario import Run
from ..runs.pace import Pace, TimeLeft
from ..runs.parallel import make_runs
from ..runs.results import checkpoint_path
from .experiment import Experiment, runs_folder, runs_of, stored_results

__all__ = ["Plan", "Progress", "make_missing", "plan_runs"]

#: How often the time that is left is reckoned anew: it costs more than to tell of a round.
SECONDS = 1.0


@dataclass(frozen=True, eq=False)
class Plan:
    """All runs behind some experiments, and what is missing of them.

    >>> plan_runs([], Path("results")).missing
    {}
    """

    runs: Mapping[str, Run]
    missing: Mapping[str, Run]  # those that can be made here, the first seed of all before the second of any
    n_done: Mapping[str, int]  # [key] rounds that are stored of a run
    without_data: Mapping[str, str]  # [task] why its data cannot be had
    unknown: tuple[str, ...]  # tasks and defences that cells name and the laboratory does not have
    pace: Pace

    def time_left(self, n_workers: int) -> TimeLeft:
        """Return how long the missing runs take."""
        return self.pace.left(self.missing, self.n_done, n_workers=n_workers)


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
) -> Plan:
    """Return what these experiments still need, of these tasks only where they are given.

    How long it takes is told by what is stored of them, and of the experiments they are `paced_by`.

    >>> from holdfast.paper import experiments_named
    >>> len(plan_runs(experiments_named(["table8"], n_seeds=1), Path("nowhere"), tasks=["digits"]).missing)
    5
    """
    runs, near = runs_of(experiments), runs_of([*experiments, *paced_by])
    found = stored_results(near, folder)
    pace = Pace()
    for key, result in found.items():
        pace.heard(near[key], n_rounds=len(result.records), seconds=sum(result.series("seconds")))  # type: ignore[arg-type]
    wanted = None if tasks is None else set(tasks)
    absent = {
        key: run
        for key, run in sorted(runs.items(), key=lambda item: item[1].seed)
        if not (key in found and found[key].finished) and (wanted is None or run.task.name in wanted)
    }
    without = _without_data(absent.values())
    missing = {key: run for key, run in absent.items() if run.task.name not in without}
    return Plan(
        runs,
        missing,
        {key: len(result.records) for key, result in found.items()},
        without,
        _unknown(experiments, wanted),
        pace,
    )


def make_missing(
    plan: Plan,
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
    open_, left, told = dict(plan.missing), plan.time_left(n_workers), -SECONDS
    done = {key: plan.n_done.get(key, 0) for key in plan.missing}
    heard: dict[str, tuple[float, int]] = {}
    failed: dict[str, str] = {}
    n_finished = 0
    where = runs_folder(folder)
    for step in make_runs(
        plan.missing.values(), where, n_workers=n_workers, ray=ray, device=device, stop_at_error=False
    ):
        run, now = plan.missing[step.key], time.perf_counter()
        if step.key in heard and step.round > heard[step.key][1]:
            before, n_before = heard[step.key]
            plan.pace.heard(run, n_rounds=step.round - n_before, seconds=now - before)
        heard[step.key], done[step.key] = (now, step.round), step.round
        if step.error:
            failed[step.key] = step.error
        if step.finished and not keep_models:
            checkpoint_path(run, where).unlink(missing_ok=True)
        if step.finished or step.error:
            n_finished += step.finished
            del open_[step.key]
        if now - told >= SECONDS or not open_:
            left, told = plan.pace.left(open_, done, n_workers=n_workers), now
        yield Progress(sum(done.values()), n_finished, left, dict(failed))


def _without_data(runs: Iterable[Run]) -> dict[str, str]:
    """Return the tasks whose data cannot be had on this machine, and why."""
    tried: dict[Bound[object], str | None] = {}
    without: dict[str, str] = {}
    for run in runs:
        if run.task.data not in tried:
            try:
                run.task.data()
                tried[run.task.data] = None
            except DataError as error:
                tried[run.task.data] = str(error)
        reason = tried[run.task.data]
        if reason is not None:
            without[run.task.name] = reason
    return without


def _unknown(experiments: Iterable[Experiment], wanted: set[str] | None) -> tuple[str, ...]:
    cells = [cell for one in experiments for cell in one.cells if wanted is None or cell.task in wanted]
    with_runs = {name for cell in cells if cell.runs for name in (cell.task, cell.defence)}
    named = {name: True for cell in cells if not cell.runs for name in (cell.task, cell.defence)}
    return tuple(name for name in named if name not in with_runs)
