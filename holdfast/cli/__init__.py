"""The command line: one file per command, arguments only."""

import errno
import io
import os
import sys
from typing import NoReturn

from .._support.extras import install

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say what to install for it."""
    try:
        from .commands import app
    except KeyboardInterrupt:
        sys.exit(130)
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in ("rich", "typer"):
            raise
        sys.exit(f"The holdfast command needs {package}; {install('cli')}")
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):  # what its encoding lacks is escaped, not an error
            stream.reconfigure(errors="backslashreplace")
    try:
        try:
            app()
        finally:
            sys.stdout.flush()
    except OSError as error:
        _end_unwritten(error)


def _end_unwritten(error: OSError) -> NoReturn:
    """End with one sentence where what is printed cannot be written: to a full disk, say."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # where the rest goes at the end
    if error.errno == errno.EPIPE:  # whoever reads has enough, as head has
        sys.exit(1)
    sys.exit(f"The output could not be written: {error.strerror or error}")
