"""Runs in this process, one after the other: for functions that no worker process could import."""

import ast
import inspect
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
            "some functions of these runs live in a notebook, an interpreter or the script that runs, where"
            " worker processes cannot find them: the runs are made one after the other. To use all cores,"
            " put the functions in a file of their own and import them"
        )
    for run in runs:
        yield from make_steps(run, folder, device)


def travels(run: Run) -> bool:
    """Return whether a worker process can import all functions of a run.

    >>> from holdfast.lab import TASKS
    >>> travels(Run(TASKS["digits"])), travels(Run(TASKS["digits"]).replace(data=lambda: None))
    (True, False)
    """
    try:
        pickled = pickle.dumps(run)
        same = pickle.loads(pickled).key == run.key  # rules are pickled by name, whatever has that name
    except (pickle.PicklingError, AttributeError, ImportError, TypeError):
        return False
    return same and (b"__main__" not in pickled or _in_guarded_script(run))


def _in_guarded_script(run: Run) -> bool:
    """Return whether workers, which import the script that runs, find the run's functions, and start nothing.

    That is so if the script is in its `if __name__ == "__main__":` now, and the functions are outside of it.
    """
    script, frame = vars(sys.modules["__main__"]), inspect.currentframe()
    while frame and not (frame.f_globals is script and frame.f_code.co_name == "<module>"):
        frame = frame.f_back
    if frame is None or not script.get("__file__"):
        return False
    guards = [
        range(node.lineno, (node.body[-1].end_lineno or 0) + 1)
        for node in ast.parse(Path(script["__file__"]).read_bytes()).body
        if isinstance(node, ast.If) and "__name__" in ast.unparse(node.test)
    ]
    codes = [getattr(function, "__code__", None) for function in _functions(run)]
    lines = [code.co_firstlineno for code in codes if code and code.co_filename == frame.f_code.co_filename]
    return any(frame.f_lineno in guard for guard in guards) and not any(
        line in guard for guard in guards for line in lines
    )


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
