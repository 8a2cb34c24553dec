"""Where data sets are: the folder that HOLDFAST_DATA names, or the one the platform gives to holdfast."""

import os
from pathlib import Path

from ...errors import DataError

__all__ = ["VARIABLE", "data_folder", "find_file"]

VARIABLE = "HOLDFAST_DATA"


def data_folder() -> Path:
    """Return the folder of data sets: HOLDFAST_DATA, or else the user's own.

    >>> from unittest.mock import patch
    >>> with patch.dict(os.environ, {VARIABLE: "/srv/data"}):
    ...     print(data_folder())
    /srv/data
    """
    if named := os.environ.get(VARIABLE):
        return Path(named).expanduser().absolute()
    from platformdirs import user_data_path

    return user_data_path("holdfast", appauthor=False)


def find_file(*names: str, what: str, get: str) -> Path:
    """Return the first of these files or folders that is in the data folder, or say which data set to get.

    >>> find_file("a.txt", "a.npz", what="vectors", get="glove")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    holdfast.errors.DataError: no a.txt or a.npz (vectors) in ...: get it with 'holdfast data get glove'...
    """
    for name in names:
        if (path := data_folder() / name).exists():
            return path
    raise DataError(
        f"no {' or '.join(names)} ({what}) in {data_folder()}: get it with 'holdfast data get {get}', or set"
        f" {VARIABLE} to the folder that holds it"
    )
