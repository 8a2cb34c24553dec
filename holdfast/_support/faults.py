"""Errors in functions that a user wrote, told from errors of holdfast."""

import sys
import traceback
from pathlib import Path

__all__ = ["fault_in_own_code"]

N_PLACES = 3  # of the user's calls that led to an error: those nearest to it


def fault_in_own_code(error: BaseException) -> str | None:
    """Return what a user's function raised, and where, on one line; None if the error is in holdfast itself.

    It is the user's if their code was the last to run, apart from the libraries that it called.

    >>> own = {"__name__": "mine"}
    >>> exec(compile("def calm(updates): return updates['first']", "mine.py", "exec"), own)
    >>> try:
    ...     own["calm"]({})
    ... except KeyError as error:
    ...     fault_in_own_code(error)
    "KeyError: 'first', in calm (mine.py, line 1)"
    """
    found = []
    for frame, line in reversed(list(traceback.walk_tb(error.__traceback__))):
        module, code = str(frame.f_globals.get("__name__")), frame.f_code
        if module.partition(".")[0] == __name__.partition(".")[0]:
            break
        if not _is_library(module, code.co_filename):
            found.append(f"{code.co_name} ({Path(code.co_filename).name}, line {line})")
    if not found:
        return None
    said = " ".join(f"{type(error).__name__}: {error}".split()).removesuffix(":")
    return f"{said}, in {', called by '.join(found[:N_PLACES])}"


def _is_library(module: str, filename: str) -> bool:
    return module.partition(".")[0] in sys.stdlib_module_names or "site-packages" in Path(filename).parts
