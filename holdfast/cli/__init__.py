"""The command line: one file per command, arguments only."""

import io
import sys

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
    app()
