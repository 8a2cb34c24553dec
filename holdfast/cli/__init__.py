"""The command line: one file per command, arguments only."""

import sys

__all__ = ["main"]


def main() -> None:
    """Run the command line, or say what to install for it.

    >>> main.__module__
    'holdfast.cli'
    """
    try:
        from .commands import app
    except ModuleNotFoundError as error:
        if error.name not in ("typer", "rich"):
            raise
        sys.exit(f"The holdfast command needs {error.name}: pip install 'holdfast-fl[cli]'")
    app()
