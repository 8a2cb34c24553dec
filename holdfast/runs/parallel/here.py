"""Runs in this process, one after the other: for functions that no worker process could import."""

import logging
import pickle
import sys
from collections.abc import Generator, Iterator, Sequence
from dataclasses import fields, is_dataclass
from pathlib import Path
from typing import Any

from ...core import Bound
from ...lab.scenario import Run
from .step import Step, make_steps

__all__ = ["make_here", "travels"]

log = logging.getLogger("holdfast")


def make_here(runs: Sequence[Run], folder: Path, *, device: str) -> Generator[Step, None, None]:
    """Make the runs and yield their news.

    >>> list(make_here([], Path("runs"), device="cpu"))
    []
    """
    if runs:
        log.warning(
            "some functions of these runs live in a notebook or an interpreter, where worker processes cannot"
            " find them: the runs are made one after the other. To use all cores, put the functions in a file"
        )
    for run in runs:
        yield from make_steps(run, folder, device)


def travels(run: Run) -> bool:
    """Return whether a worker process can import all functions of a run.

    >>> from holdfast.lab import TASKS
    >>> travels(Run(TASKS["digits"])), travels(Run(TASKS["digits"]).replace(data=lambda: None))
    (True, False)
    """
    typed_in = not hasattr(sys.modules["__main__"], "__file__")
    if typed_in and any(function.__module__ == "__main__" for function in _functions(run)):
        return False
    try:
        pickle.dumps(run)
    except (pickle.PicklingError, AttributeError, TypeError):
        return False
    return True


def _functions(value: Any) -> Iterator[Any]:
    """Yield every function in a run, also those that are settings of others."""
    if isinstance(value, Bound):
        yield value.function
        yield from _functions(tuple(setting for _, setting in value.settings))
    elif isinstance(value, tuple):
        for part in value:
            yield from _functions(part)
    elif is_dataclass(value):
        yield from _functions(tuple(getattr(value, field.name) for field in fields(value)))
    elif callable(value):
        yield value
