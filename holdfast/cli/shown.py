"""How a command ends that fails or is interrupted: one line that says why, and an exit code."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from .._support.faults import fault_in_own_code
from .._support.printable import printable
from ..errors import HoldfastError

__all__ = ["errors_shown", "stopping"]


@contextmanager
def errors_shown(code: int = 1) -> Iterator[None]:
    """Show an error of holdfast, of a file or of a user's function as one line, and exit with the code."""
    try:
        yield
    except HoldfastError as error:
        typer.secho(str(error), fg="red", err=True)
        raise typer.Exit(code) from None
    except OSError as error:
        where = printable(error.filename or "a file", limit=300)
        typer.secho(f"{where}: {error.strerror or error}", fg="red", err=True)
        raise typer.Exit(code) from None
    except Exception as error:
        fault = fault_in_own_code(error)
        if fault is None:  # ours: it needs its traceback
            raise
        typer.secho(printable(fault, limit=500), fg="red", err=True)
        raise typer.Exit(code) from None


@contextmanager
def stopping(how: str) -> Iterator[None]:
    """Answer an interrupt with one line that says how to resume, and the exit code of an interrupt."""
    try:
        yield
    except KeyboardInterrupt:
        typer.secho(f"Stopped. All is stored up to the last checkpoint: {how}.", err=True)
        raise typer.Exit(130) from None
