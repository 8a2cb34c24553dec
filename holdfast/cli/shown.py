"""How a command ends that fails or is interrupted: one line that says why, and an exit code."""

import re
import shlex
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import IntEnum
from typing import NoReturn

import typer

from .._support.faults import fault_in_own_code
from .._support.printable import printable
from ..errors import HoldfastError

__all__ = ["ENDINGS", "Ending", "errors_shown", "same_command", "stopping"]


class Ending(IntEnum):
    """What an exit code says."""

    DONE = 0
    FAILED = 1
    MISUSED = 2  # by typer, for options that do not exist or do not go together
    NO = 3
    UNREPORTED = 4
    INTERRUPTED = 130


#: The codes in words, for `holdfast --help`.
ENDINGS = (
    "Exit codes: 0 done; 1 failed, and the last line says why; 2 wrong options; 3 done, and the answer is no"
    " (the model stayed as it was, a rule fails its check, a file has changed, no setting keeps the risk); 4"
    " the model is written, its report is not; 130 interrupted."
)


@contextmanager
def errors_shown(
    code: int = Ending.FAILED, *, interrupted: str = "What was stored stays as it is."
) -> Iterator[None]:
    """Show an error of holdfast, of a file or of a user's function as one line, and exit with the code.

    `interrupted` says what is left of the work after Ctrl-C.
    """
    try:
        yield
    except KeyboardInterrupt:
        _end_interrupted(interrupted)
    except HoldfastError as error:
        typer.secho(_as_typed(str(error)), fg="red", err=True)
        raise typer.Exit(code) from None
    except OSError as error:
        where = printable(error.filename or "the output or a file", limit=300)
        typer.secho(f"{where}: {error.strerror or error}", fg="red", err=True)
        raise typer.Exit(code) from None
    except Exception as error:
        fault = fault_in_own_code(error)
        if fault is None:  # ours: it needs its traceback
            raise
        typer.secho(printable(fault, limit=500), fg="red", err=True)
        raise typer.Exit(code) from None


@contextmanager
def stopping(saved: str | Callable[[], str]) -> Iterator[None]:
    """Answer an interrupt with one line that says what is saved and how to resume, and the exit code of one.

    What is only known then is given as a function.
    """
    try:
        yield
    except KeyboardInterrupt:
        _end_interrupted(saved if isinstance(saved, str) else saved())


def same_command(*more: str) -> str:
    """Return the command as it was typed, to copy, with more words at its end.

    >>> sys.argv, before = ["holdfast", "run", "my task.py"], sys.argv
    >>> same_command("--resume")
    "holdfast run 'my task.py' --resume"
    >>> sys.argv = before
    """
    typed = [word for word in sys.argv[1:] if word not in more]
    return printable(shlex.join(["holdfast", *typed, *more]), limit=1000)


def _as_typed(message: str) -> str:
    """Return an error about a count with the name of its option.

    A rule has a setting n_malicious, too, and an error about that one says at most "of at least".

    >>> _as_typed("n_per_round must be a whole number from 1 to 50; got 0")
    '--per-round must be a whole number from 1 to 50; got 0'
    """
    found = re.match(
        r"n_(rounds|clients|per_round|malicious(?= must be a whole number from)) must be", message
    )
    if found is None:
        return message
    return message.replace(f"n_{found[1]}", f"--{found[1].replace('_', '-')}", 1)


def _end_interrupted(what: str) -> NoReturn:
    typer.secho(f"Interrupted. {what}", err=True)
    raise typer.Exit(Ending.INTERRUPTED) from None
