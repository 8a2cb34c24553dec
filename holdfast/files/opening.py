"""Checkpoints on disk: one safetensors file, or several with an index. Opened, checked, never mapped.

A file is read with pread into memory of our own: a mapped file that somebody makes shorter meanwhile would
end the process with SIGBUS. What a client left in place of a file (a link, a pipe, a device) is not opened.
"""

import errno
import math
import os
import resource
import stat
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from .._support.printable import printable
from ..errors import DataError
from ..updates.forms import first_named
from ..updates.layout import Layer, Unfit
from .header import DTYPES, FLOAT_TYPES, MAX_HEADER, Header, header_length, parsed, strict_json

__all__ = ["Checkpoint", "StoredFile", "StoredTensor", "files_per_client", "open_from_client", "open_own"]

Array = NDArray[Any]

#: A client's header may be longer than the base's by metadata and other spelling, not by more.
HEADER_SLACK = 1 << 20
#: What a process has open beside the clients' files, and what it may have open if nothing limits it.
OTHER_FILES, MANY_FILES = 256, 1 << 20


@dataclass(frozen=True, eq=False)
class StoredFile:
    """An open file, closed when nothing refers to it any more; one that is unpickled is opened again."""

    path: Path
    fd: int
    flags: int  # it was opened with
    stamp: tuple[int, ...]  # what changes when somebody writes to the file

    def __del__(self) -> None:
        """Close the file."""
        os.close(self.fd)

    def __reduce__(self) -> tuple[Any, ...]:
        """Send what identifies the file, not what is in it."""
        return _reopened, (self.path, self.flags, self.stamp)

    @property
    def is_unchanged(self) -> bool:
        """Whether nobody has written to the file since it was opened."""
        return _stamp(os.fstat(self.fd)) == self.stamp


@dataclass(frozen=True, eq=False)
class StoredTensor:
    """The numbers of one tensor, flat or in part: what `Rows` read piece by piece."""

    file: StoredFile
    type_name: str
    shape: tuple[int, ...]
    start: int  # in bytes, from the start of the file

    @property
    def dtype(self) -> np.dtype[Any]:
        """The type of the numbers, bfloat16 being its bits."""
        return DTYPES[self.type_name]

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)

    @property
    def layer(self) -> Layer:
        """Shape and type, as a rule knows them."""
        return Layer(self.shape, FLOAT_TYPES.get(self.type_name) or self.dtype)

    def read(self, start: int, out: Array) -> None:
        """Fill `out` with the numbers from `start` on; Unfit if the file is shorter than it was."""
        left = out.reshape(-1).view(np.uint8).data
        at = self.start + start * self.dtype.itemsize
        while left:
            try:
                n_bytes = os.preadv(self.file.fd, [left], at)
            except OSError as error:
                raise Unfit(f"bytes that cannot be read: {error.strerror}") from None
            if n_bytes == 0:
                raise Unfit("fewer bytes than when it was opened")
            left, at = left[n_bytes:], at + n_bytes

    def part(self, piece: slice) -> "StoredTensor":
        """Return a piece of it, in flat order."""
        start = self.start + piece.start * self.dtype.itemsize
        return replace(self, shape=(piece.stop - piece.start,), start=start)

    def values(self) -> Array:
        """Return all numbers in their shape; only for what is known to be small."""
        out = np.empty(self.shape, dtype=self.dtype)
        self.read(0, out.reshape(-1))
        return out


@dataclass(frozen=True, eq=False)
class Checkpoint:
    """All tensors of a model, by name, in the order of their files and of their numbers in them."""

    path: Path  # as it was given
    files: tuple[StoredFile, ...]
    headers: tuple[Header, ...]  # of the files
    index: bytes | None  # of several files: the content of their index, as it is
    index_name: str

    @cached_property
    def tensors(self) -> dict[str, StoredTensor]:
        """The tensors of all files, by name."""
        return {
            tensor.name: StoredTensor(file, tensor.type_name, tensor.shape, tensor.start)
            for file, header in zip(self.files, self.headers, strict=True)
            for tensor in header.tensors
        }


class Terms(NamedTuple):
    """What a checkpoint may be."""

    flags: int = 0  # to open it with
    header_bytes: int = MAX_HEADER
    names: Collection[str] | None = None  # of the tensors that it may hold; None: any
    n_files: int = sys.maxsize


#: Files with their headers, and the content and the name of their index, if they have one.
Read = tuple[list[tuple[StoredFile, Header]], bytes | None, str]


def open_own(path: Path, *, name: str) -> Checkpoint:
    """Return a checkpoint of the server's own; what is wrong with it is a DataError that calls it `name`."""
    try:
        return _checkpoint(path, Terms())
    except Unfit as reason:
        raise DataError(f"{name}, {path}, {reason}") from None
    except OSError as error:
        raise DataError(f"{name}, {path}, cannot be opened: {error.strerror}") from None


def open_from_client(path: Path, base: Checkpoint, *, n_files: int) -> Checkpoint:
    """Return what a client sent in at most so many files; Unfit if it is no checkpoint."""
    header_bytes = 16 * sum(len(header.raw) for header in base.headers) + HEADER_SLACK
    try:
        return _checkpoint(path, Terms(os.O_NOFOLLOW, header_bytes, base.tensors.keys(), n_files))
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):  # not the client's doing
            raise
        what = "symbolic link" if error.errno == errno.ELOOP else error.strerror
        raise Unfit(f"cannot be opened: {what}") from None


def files_per_client(n_clients: int, base: Checkpoint) -> int:
    """Return into how many files a client may cut its model, so that all clients' files can be open at once.

    As many as the base has are always allowed: if those are too many, that is no client's doing.
    """
    return max(len(base.files), (_allow_many_files() - OTHER_FILES) // n_clients)


def _checkpoint(path: Path, terms: Terms) -> Checkpoint:
    mode = path.stat(follow_symlinks=not terms.flags & os.O_NOFOLLOW).st_mode
    if not (stat.S_ISDIR(mode) or stat.S_ISREG(mode)):
        raise Unfit("is a symbolic link" if stat.S_ISLNK(mode) else "is not a regular file")
    if stat.S_ISDIR(mode):
        with _folder(path, terms.flags) as folder:
            read, index, name = _in_folder(path, folder, terms)
    elif path.name.endswith(".json"):
        with _folder(path.parent, 0) as folder:
            read, index, name = _indexed(path.parent, path.name, folder, terms)
    else:
        read, index, name = [_file(path, path, None, terms)], None, ""
    files, headers = zip(*read, strict=True)
    return Checkpoint(path, files, headers, index, name)


@contextmanager
def _folder(path: Path, flags: int) -> Iterator[int]:
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC | flags)
    try:
        yield folder
    finally:
        os.close(folder)


def _in_folder(path: Path, folder: int, terms: Terms) -> Read:
    names = sorted(os.listdir(folder))
    indices = [name for name in names if name.endswith(".safetensors.index.json")]
    if len(indices) == 1:
        return _indexed(path, indices[0], folder, terms)
    files = [name for name in names if name.endswith(".safetensors")]
    if indices or len(files) != 1:
        raise Unfit(f"is a folder with {len(indices)} indices and {len(files)} safetensors files, not one")
    return [_file(path / files[0], files[0], folder, terms)], None, ""


def _indexed(path: Path, name: str, folder: int, terms: Terms) -> Read:
    """Return the files of an index, which must hold just the tensors that it says they hold."""
    with _opened(name, folder, terms.flags) as (fd, size):
        if size > min(MAX_HEADER, terms.header_bytes):
            raise Unfit(f"has an index of {size} bytes, more than are allowed")
        content = os.pread(fd, size, 0)
    places = _places(strict_json(content, "an index"), printable(name), terms)
    shards = sorted(set(places.values()))
    read = [_file(path / shard, shard, folder, terms) for shard in shards]
    held = {(t.name, shard) for shard, (_, header) in zip(shards, read, strict=True) for t in header.tensors}
    if set(places.items()) != held:
        raise Unfit(f"has an index, {printable(name)}, that describes other tensors than its files hold")
    return read, content, name


def _places(entries: Any, name: str, terms: Terms) -> dict[str, str]:
    """Return the file of each tensor, as an index has it; Unfit, before any is opened, if that cannot be."""
    places = entries.get("weight_map") if isinstance(entries, dict) else None
    if not isinstance(places, dict) or not places or not all(isinstance(at, str) for at in places.values()):
        raise Unfit(f"has an index, {name}, without a weight_map")
    foreign = [] if terms.names is None else [tensor for tensor in places if tensor not in terms.names]
    if foreign:
        raise Unfit(f"has an index of {first_named(foreign)}, which the base does not have")
    shards = set(places.values())
    if not all(map(_is_file_name, shards)):
        raise Unfit(f"has an index, {name}, that points out of its folder")
    if len(shards) > terms.n_files:
        raise Unfit(f"has {len(shards)} files, more than the {terms.n_files} that are allowed")
    return places


def _is_file_name(name: str) -> bool:
    """Return whether a folder could hold a file of this name."""
    try:
        os.fsencode(name)
    except UnicodeEncodeError:
        return False
    return PurePath(name).name == name and name not in ("", ".", "..") and "\0" not in name


def _file(path: Path, name: str | Path, folder: int | None, terms: Terms) -> tuple[StoredFile, Header]:
    """Return the file, and its header read and checked."""
    with _opened(name, folder, terms.flags) as (fd, size):
        length = header_length(os.pread(fd, 8, 0), size, terms.header_bytes)
        header = parsed(os.pread(fd, 8 + length, 0), size)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_SEQUENTIAL)
        return StoredFile(path.absolute(), os.dup(fd), terms.flags, _stamp(os.fstat(fd))), header


def _reopened(path: Path, flags: int, stamp: tuple[int, ...]) -> StoredFile:
    """Return a file as another process finds it: empty if it cannot be opened, changed if it is another."""
    try:
        with _opened(path, None, flags) as (fd, _):
            return StoredFile(path, os.dup(fd), flags, (*stamp[:2], *_stamp(os.fstat(fd))[2:]))
    except (OSError, Unfit):
        return StoredFile(path, os.open(os.devnull, os.O_RDONLY), flags, stamp)


@contextmanager
def _opened(name: str | Path, folder: int | None, flags: int) -> Iterator[tuple[int, int]]:
    """Open a regular file, without waiting for whoever may hold the other end of a pipe."""
    _allow_many_files()
    fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC | flags, dir_fd=folder)
    try:
        found = os.fstat(fd)
        if not stat.S_ISREG(found.st_mode):
            raise Unfit("is not a regular file")
        yield fd, found.st_size
    finally:
        os.close(fd)


def _stamp(found: os.stat_result) -> tuple[int, ...]:
    # Size and time are the same on every machine that shares the file; the others may be each one's own.
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_dev, found.st_ino


def _allow_many_files() -> int:
    """Let this process open as many files as the system allows it; return how many that are."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if hard != soft:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    return hard if hard != resource.RLIM_INFINITY else MANY_FILES
