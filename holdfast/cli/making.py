"""Runs made by local workers, with one progress bar for all."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from . import options
from .shown import stopping

if TYPE_CHECKING:
    from ..lab.scenario import Run

__all__ = ["make_with_progress"]


def make_with_progress(
    runs: "Iterable[Run]",
    folder: Path,
    *,
    workers: int | None = None,
    device: str = "cpu",
    quiet: bool = False,
) -> None:
    """Make the runs that the folder does not hold yet, and show how far they are."""
    from ..runs.parallel import make_runs

    wanted = {run.key: run for run in runs}
    done, n_finished = dict.fromkeys(wanted, 0), 0
    n_rounds = sum(run.task.n_rounds for run in wanted.values())
    with options.progress("rounds", n_rounds, quiet=quiet) as show, stopping("the same command resumes"):
        for step in make_runs(wanted.values(), folder, n_workers=workers, device=device):
            done[step.key] = step.round
            n_finished += step.finished
            show(sum(done.values()), f"{n_finished} of {len(wanted)} runs done")
