"""Files that have either their old content or all of their new one, whatever happens meanwhile."""

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["replacing", "sync_folder", "write_whole"]


def write_whole(path: Path, content: bytes | memoryview) -> None:
    """Write a file, and the folders above it, with all of the content or not at all.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "some" / "note"
    >>> write_whole(path, b"done")
    >>> path.read_bytes()
    b'done'
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file beside the path that takes its name once it is written, and is gone if that fails.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "note"
    >>> with replacing(path) as file:
    ...     n_bytes = file.write(b"done")
    >>> path.read_bytes()
    b'done'
    """
    partial = path.with_name(f"{path.name}.{os.getpid()}.partial")
    try:
        with open(partial, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk, before anything else is written."""
    if hasattr(os, "O_DIRECTORY"):
        opened = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
