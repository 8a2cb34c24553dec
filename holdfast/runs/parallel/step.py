"""What workers report of a run."""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

from ..._support.faults import fault_in_own_code
from ...errors import HoldfastError
from ...lab.scenario import Run
from ..recording import run_and_record

__all__ = ["Step", "make_steps", "run_name"]


class Step(NamedTuple):
    """News of a run: so many of its rounds are done; `error` says why it goes no further."""

    key: str
    round: int
    finished: bool
    error: str | None = None


def make_steps(run: Run, folder: Path, device: str) -> Iterator[Step]:
    """Make a run in this process, and yield its news.

    The last of them may be an error: one of ours, or one in a function of the user's. A bug is raised.
    """
    n_done = 0
    try:
        for result in run_and_record(run, folder, device=device):
            n_done = result.n_done
            yield Step(run.key, n_done, result.finished)
    except HoldfastError as error:
        yield Step(run.key, n_done, False, f"{run_name(run)}: {error}")
    except Exception as error:
        fault = fault_in_own_code(error)
        if fault is None:
            raise
        yield Step(run.key, n_done, False, f"{run_name(run)}: {fault}")


def run_name(run: Run) -> str:
    """Return a run as an error names it."""
    return f"{run.defence.name} under attack {run.attack.name!r}, seed {run.seed}"
