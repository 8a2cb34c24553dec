"""Whether a file or a folder can be written, found out before the work that would be lost."""

import tempfile
from pathlib import Path

from ..errors import InputError
from .printable import printable

__all__ = ["check_writable_file", "check_writable_folder"]


def check_writable_folder(folder: Path) -> None:
    """Raise an InputError if nothing could be written into a folder; it need not be there, and is not made.

    >>> check_writable_folder(Path(tempfile.gettempdir()) / "results" / "runs")
    >>> check_writable_folder(Path(__file__) / "results")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    holdfast.errors.InputError: cannot write to ...: ... is not a folder; name another place
    """
    nearest = next(path for path in (folder, *folder.absolute().parents) if path.exists())
    try:
        if not nearest.is_dir():
            raise InputError(
                f"cannot write to {_shown(folder)}: {_shown(nearest)} is not a folder; name another place"
            )
        tempfile.TemporaryFile(dir=nearest).close()
    except OSError as error:
        reason = error.strerror or error
        raise InputError(f"cannot write to {_shown(folder)}: {reason}; name another place") from None


def check_writable_file(path: Path) -> None:
    """Raise an InputError if a file could not be written, or replaced, at this path.

    >>> check_writable_file(Path(tempfile.gettempdir()) / "pages" / "report.html")
    >>> check_writable_file(Path(tempfile.gettempdir()))  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    holdfast.errors.InputError: cannot write a file to ...: it is a folder
    """
    if path.is_dir():
        raise InputError(f"cannot write a file to {_shown(path)}: it is a folder")
    check_writable_folder(path.parent)


def _shown(path: Path) -> str:
    return printable(path, limit=300)
