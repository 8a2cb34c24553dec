"""Named arrays in one .npz file: written whole or not at all, read without pickle."""

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError
from .atomic import write_whole

__all__ = ["UNREADABLE", "Arrays", "read_arrays", "write_arrays"]

Arrays = dict[str, NDArray[Any]]

#: What reading a file that is no checkpoint, or half of one, can end in.
UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, NotImplementedError)


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]]) -> None:
    """Write the arrays under their names, all or nothing."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    write_whole(path, buffer.getbuffer())


def read_arrays(path: Path) -> Arrays:
    """Return what was written; anything else that the file may be ends in one of UNREADABLE."""
    if not path.is_file():
        raise DataError(f"no checkpoint at {path}")
    with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}
