"""Named arrays in one .npz file: written whole or not at all, read without pickle.

The last bytes, a zip file's comment, are a digest of all others: no bit is lost without a word.
"""

import hashlib
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
UNREADABLE = (OSError, ValueError, KeyError, EOFError, zipfile.BadZipFile, zlib.error, RuntimeError)

N_DIGEST = 64  # hexadecimal digits of a sha256


def write_arrays(path: Path, arrays: Mapping[str, NDArray[Any]], *, mode: int | None = None) -> None:
    """Write the arrays under their names, all or nothing; `mode` is for a file that is new."""
    buffer = io.BytesIO()
    np.savez(buffer, **arrays)  # type: ignore[arg-type]
    with zipfile.ZipFile(buffer, "a") as archive:
        archive.comment = bytes(N_DIGEST)  # the room for it
    content = buffer.getbuffer()
    content[-N_DIGEST:] = _digest(content)
    write_whole(path, content, mode=mode)


def read_arrays(path: Path) -> Arrays:
    """Return what was written; anything else that the file may be ends in one of UNREADABLE."""
    if not path.is_file():
        raise DataError(f"no checkpoint at {path}")
    content = path.read_bytes()
    if content[-N_DIGEST:] != _digest(memoryview(content)) and not _is_older(content):
        raise ValueError("its digest does not fit its bytes: it is damaged")
    with np.load(io.BytesIO(content), allow_pickle=False) as stored:
        return {name: stored[name] for name in stored.files}


def _digest(content: memoryview) -> bytes:
    return hashlib.sha256(content[:-N_DIGEST]).hexdigest().encode()


def _is_older(content: bytes) -> bool:
    """Return whether a file is from before there were digests: a zip file that ends without a comment."""
    return content[-22:-18] == b"PK\x05\x06" and content[-2:] == b"\0\0"
