"""Files and folders that hold either their old content or all of the new one, whatever happens meanwhile.

New content goes to a partial file beside the old one, named after the process that writes it, and takes the
old one's name once it is on the disk.
"""

import ctypes
import glob
import os
import platform
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO

__all__ = ["remove_leftovers", "replacing", "replacing_folder", "write_whole"]

AT_FDCWD, RENAME_EXCHANGE = -100, 2  # of Linux


def write_whole(path: Path, content: bytes | memoryview) -> None:
    """Write a file, and the folders above it, with all of the content or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path) as file:
        file.write(content)


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """Open a file beside the path that takes its name once it is written, and is removed if that fails.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "note"
    >>> with replacing(path) as file:
    ...     n_bytes = file.write(b"done")
    >>> path.read_bytes()
    b'done'
    """
    partial = _partial(path)
    try:
        with open(partial, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, path)
    except BaseException:
        partial.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Make a folder beside the path that takes its place, all files at once, and is removed if that fails."""
    partial = _partial(path)
    partial.mkdir()
    try:
        yield partial
        _sync_folder(partial)
        if not path.exists():
            os.rename(partial, path)
        elif not _exchanged(partial, path):  # then there is a moment in which the old one has another name
            old = partial.with_suffix(".old")
            os.rename(path, old)
            os.rename(partial, path)
            os.rename(old, partial)
        _sync_folder(path.parent)
    finally:
        shutil.rmtree(partial, ignore_errors=True)  # the old one, if they were exchanged


def remove_leftovers(folder: Path, name: str) -> None:
    """Remove partial files of `name` and of `name.*` whose writers are dead; never those of the living."""
    for partial in folder.glob(f"{glob.escape(name)}.*.partial"):
        writer = re.search(r"\.(\d+)@([^@]*)\.partial$", partial.name)
        if writer is None or writer[2] != platform.node() or _is_alive(int(writer[1])):
            continue
        if partial.is_dir() and not partial.is_symlink():
            shutil.rmtree(partial, ignore_errors=True)
        else:
            partial.unlink(missing_ok=True)


def _partial(path: Path) -> Path:
    """Return the partial file's path, which tells the process and, as folders may be shared, the machine."""
    return path.with_name(f"{path.name}.{os.getpid()}@{platform.node()}.partial")


def _is_alive(process: int) -> bool:
    if os.name != "posix":  # elsewhere, asking would send it a signal
        return True
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):  # somebody else's; no number of a process at all
        return True
    return True


def _exchanged(one: Path, other: Path) -> bool:
    """Swap two folders in one step and return True, where the system can."""
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 is None:
        return False
    names = os.fsencode(one), os.fsencode(other)
    return bool(renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE) == 0)


def _sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    if hasattr(os, "O_DIRECTORY"):
        opened = os.open(folder, os.O_DIRECTORY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
