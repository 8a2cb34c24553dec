"""What stored trainings come to: the verdict on one run, by the same run without attackers."""

from pathlib import Path

from ..errors import DataError
from ..lab.choices import unattacked
from ..lab.scenario import Run, Task
from ..lab.simulation import load_once
from ..paper.experiment import run_shown, runs_folder
from ..report.concluding import conclude_run
from ..report.conclusions import Conclusion
from ..report.next_steps import Typed
from ..runs.results import find_result

__all__ = ["concluded_run", "guess_rate"]


def guess_rate(task: Task) -> float | None:
    """Return the accuracy of always guessing the most frequent label; None where the data is not here.

    >>> from holdfast.lab import TASKS
    >>> 0.1 < guess_rate(TASKS["digits"]) < 0.12
    True
    """
    try:
        return load_once(task.data).guess_rate
    except DataError:
        return None


def concluded_run(run: Run, out: Path, *, typed: Typed | None = None) -> Conclusion:
    """Return what a run stored in the folder `out` comes to, by its unattacked twin if that is there, too."""
    results = [find_result(one, runs_folder(out))[0] for one in (run, unattacked(run))]
    own, honest = (None if one is None or not one.finished else run_shown(one) for one in results)
    if own is None:
        raise DataError(f"no finished result of {run.key} in {runs_folder(out)}")
    return conclude_run(own, honest, guessing=guess_rate(run.task), typed=typed)
