"""Files that one process at a time holds. The system drops a lock with its process, however that ends.

That also holds in another container, or on another machine that shares the folder. Where files cannot be
locked, everybody does without.
"""

import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import NoReturn

try:
    import fcntl
except ImportError:  # a system without such locks
    fcntl = None  # type: ignore[assignment]

__all__ = ["end_at_once", "held", "held_here", "lock_of", "locked", "try_lock"]

_held: dict[Path, int] = {}  # [file] by which process
_removing = threading.Lock()  # whoever removes such files: one thread at a time


def try_lock(fd: int) -> bool | None:
    """Return whether an open file is now locked by us alone; None where files cannot be locked."""
    if fcntl is None:
        return None
    try:
        fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        return None
    return True


def lock_of(path: Path) -> Path:
    """Return the file beside another that whoever works with that one holds.

    >>> lock_of(Path("federation.db")).name
    'federation.db.lock'
    """
    return path.with_name(f"{path.name}.lock")


@contextmanager
def held(path: Path) -> Iterator[bool]:
    """Hold the file; yield False at once if somebody else has it.

    The file is made and removed again, and so are the folders above it, unless something is in them by then.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "lock"
    >>> with held(path) as first, held(path) as second:
    ...     first, second, held_here(path)
    (True, False, True)
    >>> path.exists()
    False
    """
    new = [folder for folder in path.parents if not folder.exists()]
    fd = None if fcntl is None else _taken(path)
    if fd is None:
        yield fcntl is None
        return
    own, _held[path] = os.getpid(), os.getpid()
    try:
        yield True
    finally:
        if os.getpid() == own:  # and not a fork of it
            with _removing, suppress(OSError):
                del _held[path]
                path.unlink()  # before it is free: whoever locks it now finds that it is gone
                for folder in new:
                    folder.rmdir()
        os.close(fd)


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold the file, after whoever has it."""
    while True:
        with held(path) as is_ours:
            if is_ours:
                yield
                return
        time.sleep(0.05)


def held_here(path: Path) -> bool:
    """Return whether this process holds the file."""
    return _held.get(path) == os.getpid()


def end_at_once(code: int) -> NoReturn:
    """End this process, whatever its threads are doing, and remove the files that it holds."""
    _removing.acquire()  # for good: nobody who comes after us finds their file removed
    for path in [path for path, process in _held.items() if process == os.getpid()]:
        with suppress(OSError):
            path.unlink()
    os._exit(code)


def _taken(path: Path) -> int | None:
    """Return the file, open and locked; None if somebody else has it."""
    while True:
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
        except FileNotFoundError:  # the folder was removed before we opened it
            continue
        if try_lock(fd) is False:
            os.close(fd)
            return None
        with suppress(FileNotFoundError):
            if os.path.samestat(os.fstat(fd), path.stat()):
                return fd
        os.close(fd)  # it was removed before we had it
