"""Where data sets lie: a folder of the user's, named by HOLDFAST_DATA, or the one of the platform's custom.

What is slow to decode is kept a second time in a cache folder, which can be emptied at any time.
"""

import os
import sys
from pathlib import Path

from ...errors import DataError

__all__ = ["VARIABLE", "cache_folder", "data_folder", "found", "in_folder"]

VARIABLE = "HOLDFAST_DATA"


def data_folder() -> Path:
    """Return the folder of data sets: HOLDFAST_DATA, or else the user's own.

    >>> data_folder().is_absolute()
    True
    """
    named = os.environ.get(VARIABLE)
    return Path(named).expanduser().absolute() if named else _of_user("XDG_DATA_HOME", ".local/share", "data")


def cache_folder() -> Path:
    """Return the folder for what can be made again.

    >>> cache_folder().name
    'holdfast'
    """
    return _of_user("XDG_CACHE_HOME", ".cache", "cache")


def found(name: str) -> Path | None:
    """Return where a file or folder of the data folder is, or None.

    >>> found("no such file") is None
    True
    """
    path = data_folder() / name
    return path if path.exists() else None


def in_folder(name: str, *, what: str, get: str) -> Path:
    """Return where a file of the data folder is, or say what it holds and which data set to get.

    >>> in_folder("no such file", what="a list of nothing", get="nothing")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    holdfast.errors.DataError: no no such file (a list of nothing) in ...
    """
    path = found(name)
    if path is None:
        raise DataError(
            f"no {name} ({what}) in {data_folder()}: get it with 'holdfast data get {get}', or set {VARIABLE}"
            " to the folder that holds it"
        )
    return path


def _of_user(variable: str, default: str, kind: str) -> Path:
    """Return the folder of this kind that the platform's custom gives to holdfast."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData/Local") / "holdfast"
        return base / kind if kind == "cache" else base
    if sys.platform == "darwin":
        return home / "Library" / ("Caches" if kind == "cache" else "Application Support") / "holdfast"
    named = os.environ.get(variable, "")
    # The convention says that a relative path is to be ignored.
    return (Path(named) if Path(named).is_absolute() else home / default) / "holdfast"
