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
    """Make the runs that the folder does not hold yet, and show how far they are.

    >>> import tempfile
    >>> make_with_progress([], Path(tempfile.mkdtemp()), quiet=True)
    """
    from ..runs.parallel import make_runs

    wanted = {run.key: run for run in runs}
    done, n_finished = dict.fromkeys(wanted, 0), 0
    with options.progress(quiet=quiet) as bar, stopping("the same command continues"):
        line = bar.add_task("rounds", total=sum(run.task.n_rounds for run in wanted.values()), said="")
        for step in make_runs(wanted.values(), folder, n_workers=workers, device=device):
            done[step.key] = step.round
            n_finished += step.finished
            bar.update(line, completed=sum(done.values()), said=f"{n_finished} of {len(wanted)} runs done")
