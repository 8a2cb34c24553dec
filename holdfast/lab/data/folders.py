"""The folder of data sets: where it is, and files in it that may be missing or damaged."""

import os
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.arrays import UNREADABLE
from ...errors import DataError

__all__ = ["VARIABLE", "data_folder", "find_file", "load_arrays"]

VARIABLE = "HOLDFAST_DATA"


def data_folder() -> Path:
    """Return the folder of data sets: the one that HOLDFAST_DATA names, or the user's own."""
    try:
        if named := os.environ.get(VARIABLE):
            return Path(named).expanduser().absolute()
        from platformdirs import user_data_path

        return user_data_path("holdfast", appauthor=False).expanduser()
    except RuntimeError:  # of a user whom the system does not know, as in many a container
        raise DataError(f"there is no home folder: set {VARIABLE} to the folder of data sets") from None


def find_file(*names: str, what: str, get: str) -> Path:
    """Return the first of these files or folders that is in the data folder, or say which data set to get."""
    for name in names:
        if (path := data_folder() / name).exists():
            return path
    raise DataError(
        f"no {' or '.join(names)} ({what}) in {data_folder()}: get it with 'holdfast data get {get}', or set"
        f" {VARIABLE} to the folder that holds it"
    )


def load_arrays(path: Path, *names: str) -> list[NDArray[Any]]:
    """Return the arrays of these names from an .npz file; nothing in it is unpickled."""
    try:
        with path.open("rb") as file, np.load(file, allow_pickle=False) as held:
            return [held[name] for name in names]
    except (*UNREADABLE, TypeError) as error:  # a lone array is no file of several
        raise DataError(f"{path} must hold the arrays {', '.join(names)}: {error}") from None
