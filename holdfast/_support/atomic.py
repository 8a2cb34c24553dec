"""Files and folders that hold either their old content or all of the new one, whatever happens meanwhile.

New content goes to a partial file beside the old one, and takes the old one's name once it is on the disk.
The partial file has a random name and is locked for as long as it is written: the system drops the lock with
its process, however that ends, also in another container or on another machine that shares the folder. A
partial file that can be locked is a leftover, and whoever writes the same file next removes it.
"""

import ctypes
import os
import re
import secrets
import shutil
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

from .locks import try_lock

__all__ = ["PRIVATE", "replacing", "replacing_folder", "write_whole"]

PRIVATE = 0o600  # only its owner may read it

AT_FDCWD, RENAME_EXCHANGE = -100, 2  # of Linux
NO_LINKS, FOLDER = getattr(os, "O_NOFOLLOW", 0), getattr(os, "O_DIRECTORY", 0)


def write_whole(path: Path, content: bytes | memoryview, *, mode: int | None = None) -> None:
    """Write a file, and the folders above it, with all of the content or not at all."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with replacing(path, mode=mode) as file:
        file.write(content)


@contextmanager
def replacing(path: Path, *, mode: int | None = None) -> Iterator[BinaryIO]:
    """Open a file beside the path that takes its name and mode once it is written, and else is removed.

    `mode` is for a path where nothing is yet; what is given it is ours alone while it is written.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "note"
    >>> with replacing(path) as file:
    ...     n_bytes = file.write(b"done")
    >>> path.read_bytes()
    b'done'
    """
    _remove_leftovers(path)
    old = _mode_of(path)
    mode = mode if old is None else old
    partial, fd = _new_partial(path, mode)
    try:
        with open(fd, "wb") as file:
            yield file
            file.flush()
            if mode is not None:
                os.chmod(fd, mode)
            os.fsync(fd)
            if os.name != "posix":  # there, an open file keeps its name
                file.close()
            os.replace(partial, path)
    except BaseException as error:
        partial.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.errno is not None and error.filename is None:
            error.filename = str(path)
        raise
    _sync_folder(path.parent)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Make a folder beside the path that takes its place, all files at once, and is removed if that fails."""
    _remove_leftovers(path)
    mode = _mode_of(path)
    partial, fd = _new_partial(path, mode, is_folder=True)
    try:
        yield partial
        _keep_modes(path, partial, mode)
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
        os.close(fd)


def _new_partial(path: Path, mode: int | None, *, is_folder: bool = False) -> tuple[Path, int]:
    """Return a new file or folder beside the path, open and locked; only ours to read if the old one is."""
    while True:
        partial = path.with_name(f"{path.name}.{secrets.token_hex(8)}.partial")
        if is_folder:
            partial.mkdir(0o777 if mode is None else 0o700)
            fd = os.open(partial, os.O_RDONLY | FOLDER | NO_LINKS)
        else:
            new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_LINKS
            fd = os.open(partial, new, 0o666 if mode is None else 0o600)
        with suppress(FileNotFoundError):  # somebody took it for a leftover before it was locked
            if try_lock(fd) is not False and os.path.samestat(os.fstat(fd), partial.lstat()):
                return partial, fd
        os.close(fd)


def _remove_leftovers(path: Path) -> None:
    """Remove the partial files and folders of this path that no living process writes."""
    ours = re.compile(re.escape(path.name) + r"\.[0-9a-f]{16}\.partial")
    try:
        found = [path.with_name(name) for name in os.listdir(path.parent) if ours.fullmatch(name)]
    except OSError:  # whoever writes there will say so
        return
    for partial in found:
        with suppress(OSError):
            kind = partial.lstat().st_mode
            if stat.S_ISREG(kind) or stat.S_ISDIR(kind):
                _remove_unlocked(partial, is_folder=stat.S_ISDIR(kind))


def _remove_unlocked(partial: Path, *, is_folder: bool) -> None:
    fd = os.open(partial, (os.O_RDONLY | FOLDER if is_folder else os.O_RDWR | os.O_NONBLOCK) | NO_LINKS)
    try:
        if try_lock(fd):
            shutil.rmtree(partial, ignore_errors=True) if is_folder else partial.unlink()
    finally:
        os.close(fd)


def _mode_of(path: Path) -> int | None:
    """Return who may read and write what is replaced; None if nothing is."""
    try:
        found = path.lstat().st_mode
    except FileNotFoundError:
        return None
    return None if stat.S_ISLNK(found) else stat.S_IMODE(found) & 0o777


def _keep_modes(path: Path, partial: Path, mode: int | None) -> None:
    """Give the new folder, and the files in it that replace others, the modes of the old ones."""
    for file in partial.iterdir():
        own = _mode_of(path / file.name)
        if own is not None:
            file.chmod(own)
    if mode is not None:
        partial.chmod(mode)


def _exchanged(one: Path, other: Path) -> bool:
    """Swap two folders in one step and return True, where the system can."""
    renameat2 = getattr(ctypes.CDLL(None), "renameat2", None)
    if renameat2 is None:
        return False
    names = os.fsencode(one), os.fsencode(other)
    return bool(renameat2(AT_FDCWD, names[0], AT_FDCWD, names[1], RENAME_EXCHANGE) == 0)


def _sync_folder(folder: Path) -> None:
    """Wait until the names in a folder are on the disk."""
    if FOLDER:
        opened = os.open(folder, FOLDER)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
