"""How a command ends that cannot do what was asked: one line that says why, and an exit code of 1."""

from collections.abc import Iterator
from contextlib import contextmanager

import typer

from ..errors import HoldfastError

__all__ = ["errors_shown", "stopping"]


@contextmanager
def errors_shown() -> Iterator[None]:
    """Show an error of holdfast, of a file or of a missing extra as one line instead of a traceback."""
    try:
        yield
    except HoldfastError as error:
        typer.secho(str(error), fg="red", err=True)
        raise typer.Exit(1) from None
    except OSError as error:
        typer.secho(f"{error.filename or 'a file'}: {error.strerror or error}", fg="red", err=True)
        raise typer.Exit(1) from None
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        typer.secho("this needs torch: install holdfast-fl[sim]", fg="red", err=True)
        raise typer.Exit(1) from None


@contextmanager
def stopping(how: str) -> Iterator[None]:
    """Answer an interrupt with one line that says how to resume, and the exit code of an interrupt."""
    try:
        yield
    except KeyboardInterrupt:
        typer.secho(f"Stopped. All is stored up to the last checkpoint: {how}.", err=True)
        raise typer.Exit(130) from None
