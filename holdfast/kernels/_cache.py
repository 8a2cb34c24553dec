"""Machine code kept on disk, under names that say what it was compiled from.

Numba's own cache sees a change only in the file of the function that is called, not of those that it calls.
And two processes that fill it at once can leave the code of one signature under the name of another. Here the
name of a file holds a digest of all sources of this package and of whatever else decides about the code, and
the file a checksum: what is found is what would be compiled. Numba still chooses the folder: NUMBA_CACHE_DIR
if that is set, else `__pycache__`, else one of the user's.
"""

import errno
import hashlib
import logging
import pickle
import sys
from contextlib import suppress
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

import llvmlite
import numba
from numba.core.caching import CompileResultCacheImpl, NullCache
from numba.core.serialize import dumps

from .._support.atomic import write_whole

__all__ = ["keep_on_disk"]

log = logging.getLogger("holdfast")

CHECKSUM_BYTES = 32


def keep_on_disk(loop: Any) -> None:
    """Let a compiled function find its machine code on disk, and leave it there, if there is a place."""
    try:
        loop._cache = SourceCache(loop.py_func)
    except RuntimeError:
        _report("finds no folder to write to; set NUMBA_CACHE_DIR to one")
    except OSError as error:
        _report(f"cannot read its sources: {error.strerror}")


class SourceCache(NullCache):
    """The machine code of one function: one file per signature, processor and version of what compiles it."""

    def __init__(self, function: Any) -> None:
        self.numba = CompileResultCacheImpl(function)
        self.folder = Path(self.numba.locator.get_cache_path())
        self.name = function.__name__
        self.sources = _digest_of_sources()

    @property
    def cache_path(self) -> str:
        """The folder, for Numba's statistics."""
        return str(self.folder)

    def load_overload(self, signature: Any, target: Any) -> Any:
        """Return what was compiled for the signature; None if it must be compiled."""
        target.refresh()
        path = self._path(signature, target.codegen())
        try:
            content = path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            _report(f"cannot read {self.folder}: {error.strerror}")
            return None
        code = content[CHECKSUM_BYTES:]
        if hashlib.sha256(code).digest() != content[:CHECKSUM_BYTES]:
            log.warning("%s in %s is damaged; it is removed and compiled again", self.name, self.folder)
            with suppress(OSError):  # another process may be removing it, too
                path.unlink()
            return None
        return self.numba.rebuild(target, pickle.loads(code))

    def save_overload(self, signature: Any, result: Any) -> None:
        """Keep what was compiled, and remove what was compiled from other sources."""
        try:
            # A package that was updated while this process ran may be compiled from old and new sources.
            if self.sources != _digest_of_sources() or not self.numba.check_cachable(result):
                return
            code = dumps(self.numba.reduce(result))
            write_whole(self._path(signature, result.codegen), hashlib.sha256(code).digest() + code)
        except OSError as error:
            _report(f"cannot write to {self.folder}: {error.strerror}")
        for path in self.folder.glob("*.nb[ic]*"):
            if self.sources not in path.name:
                with suppress(OSError):  # another process may be removing it, too
                    path.unlink()

    def _path(self, signature: Any, codegen: Any) -> Path:
        made_for = (
            str(signature),
            codegen.magic_tuple(),
            numba.__version__,
            llvmlite.__version__,
            sys.version,
        )
        return self.folder / f"{self.name}-{self.sources}-{_digest(repr(made_for).encode())}.nbc"


def _digest_of_sources() -> str:
    sources = [path for path in resources.files(__package__).iterdir() if path.name.endswith(".py")]
    if not sources:  # a frozen program
        raise FileNotFoundError(errno.ENOENT, "no sources")
    return _digest(b"".join(path.read_bytes() for path in sorted(sources, key=lambda path: path.name)))


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()[:16]


@cache
def _report(problem: str) -> None:
    """Say it once: every loop has the same problem."""
    log.warning("holdfast compiles its loops anew in each process, which takes some seconds: it %s", problem)
