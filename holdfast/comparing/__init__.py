"""Defences side by side: over whole trainings, and on the updates of one round."""

from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from .._support.seeds import seeds_of
from ..errors import InputError
from ..lab.choices import Numbers, build_contest
from ..lab.own import is_own
from ..lab.scenario import Attack, Run, Task
from ..paper.comparison import comparison
from ..paper.experiment import document, runs_folder, runs_of
from ..report.concluding import conclude_contest
from ..report.next_steps import Typed
from .choosing import check_choices, defences_listed
from .compared import Comparison
from .concluded import guess_rate
from .making import Progress, make_shown, progress_shown

__all__ = ["Comparison", "compare"]

#: What is compared unless something else is named.
DEFENCES = ("fedavg", "trimmed_mean", "invariant")


def compare(
    task: str | Task,
    attack: str | Attack | None = None,
    defences: Iterable[Any] | Mapping[str, Any] = DEFENCES,
    *,
    watch: Any = None,
    seeds: int | str | Iterable[int] = 3,
    baseline: str | None = None,
    settings: Mapping[str, Any] | None = None,
    numbers: Numbers | None = None,
    sampling: str = "uniform",
    scale: str = "cpu",
    out: str | Path = "results",
    n_workers: int | None = None,
    device: str = "cpu",
    progress: Progress = progress_shown,
    typed: Callable[[Run], Typed] | None = None,
) -> Comparison:
    """Return defences side by side, under an attack and without it, each trained with several seeds.

    Task, attack and defences are names or values: "digits", "mine.py" or a `Task`; "edge-case+collude" or an
    `Attack`; "factions+median", a rule, a `Defence`, or a mapping that names them. `seeds=3` are the seeds 0,
    1 and 2; `seeds=(3, 5, 7)` are those. Runs are made in parallel, by one worker process per core. They are
    kept in the folder `out`: what is there already is read, and what was interrupted resumes.
    With a `baseline`, the other defences are compared with it seed by seed. `typed` says how a run
    was asked for on a command line, for the advice on what to do next.

    >>> import tempfile
    >>> from holdfast import median
    >>> small = Numbers(n_rounds=1, n_clients=10, n_per_round=5)
    >>> found = compare("digits", "distributed", [median], seeds=1, numbers=small, out=tempfile.mkdtemp())
    >>> [standing["defence"] for standing in found.standings]
    ['median']
    """
    check_choices(task=task, attack=attack, settings=settings, numbers=numbers)
    if not isinstance(baseline, str | None):
        raise InputError(f"baseline must be the name of one of the defences; got {baseline!r}")
    contest = build_contest(
        task,
        defences_listed(defences),
        attack=attack,
        watch=watch,
        seeds=seeds_of(seeds),
        settings=settings,
        numbers=numbers,
        sampling=sampling,
        scale=scale,
    )
    experiment = comparison(contest, baseline=baseline, settings=settings)
    runs = runs_of([experiment]).values()
    make_shown(runs, runs_folder(Path(out)), progress=progress, n_workers=n_workers, device=device)
    is_ours = isinstance(task, str) and not is_own(task)  # a task of one's own has no scale
    found = document([experiment], Path(out), scale=scale if is_ours else None)
    (shown,), run = found["experiments"], next(iter(contest.values()))[0]
    concluded = conclude_contest(
        shown, found["runs"], guessing=guess_rate(run.task), typed=typed and typed(run)
    )
    return Comparison({**found, "conclusion": concluded.as_dict()})
