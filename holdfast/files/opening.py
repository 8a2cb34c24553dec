"""Checkpoints on disk: one safetensors file, or several with an index. Opened, and checked."""

import errno
import os
import stat
import sys
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path, PurePath
from typing import Any, NamedTuple

from numpy.typing import NDArray

from .._support.printable import printable
from ..errors import DataError
from ..updates.forms import first_named
from ..updates.layout import Unfit
from .header import MAX_HEADER, N_FIRST, Header, header_length, parsed, strict_json
from .stored import StoredFile, StoredTensor, allow_many_files, opened, stamp_of

__all__ = ["Checkpoint", "files_per_client", "open_from_client", "open_own"]

Array = NDArray[Any]

#: A client's header may be longer than the base's by metadata and other spelling, not by more.
HEADER_SLACK = 1 << 20
#: What a process has open beside the clients' files.
OTHER_FILES = 256


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

    own: str | None = None  # what the server calls it, if it is its own
    flags: int = 0  # to open it with
    header_bytes: int = MAX_HEADER
    names: Collection[str] | None = None  # of the tensors that it may hold; None: any
    n_files: int = sys.maxsize


#: Files with their headers, and the content and the name of their index, if they have one.
Read = tuple[list[tuple[StoredFile, Header]], bytes | None, str]


def open_own(path: Path, *, name: str) -> Checkpoint:
    """Return a checkpoint of the server's own; what is wrong with it is a DataError that calls it `name`."""
    try:
        return _checkpoint(path, Terms(own=name))
    except Unfit as reason:
        raise DataError(f"{name}, {path}, {reason}") from None
    except OSError as error:
        raise DataError(f"{name}, {path}, cannot be opened: {error.strerror}") from None


def open_from_client(path: Path, base: Checkpoint, *, n_files: int) -> Checkpoint:
    """Return what a client sent in at most so many files; Unfit if it is no checkpoint."""
    header_bytes = 16 * sum(len(header.raw) for header in base.headers) + HEADER_SLACK
    try:
        return _checkpoint(path, Terms(None, os.O_NOFOLLOW, header_bytes, base.tensors.keys(), n_files))
    except OSError as error:
        if error.errno in (errno.EMFILE, errno.ENFILE, errno.ENOMEM):  # not the client's doing
            raise
        what = "symbolic link" if error.errno == errno.ELOOP else error.strerror
        raise Unfit(f"cannot be opened: {what}") from None


def files_per_client(n_clients: int, base: Checkpoint) -> int:
    """Return into how many files a client may cut its model, so that all clients' files can be open at once.

    As many as the base has are always allowed: if those are too many, that is no client's doing.
    """
    return max(len(base.files), (allow_many_files() - OTHER_FILES) // n_clients)


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
    if len(files) > 1 and not indices:
        raise Unfit(
            f"is a folder of {len(files)} safetensors files and no index that makes them one model; if each"
            " is a client's, name the files"
        )
    if indices or not files:
        what = f"{len(indices)} indices" if indices else "no safetensors file"
        raise Unfit(f"is a folder with {what}, not one model")
    return [_file(path / files[0], files[0], folder, terms)], None, ""


def _indexed(path: Path, name: str, folder: int, terms: Terms) -> Read:
    """Return the files of an index, which must hold just the tensors that it says they hold."""
    with opened(name, folder, terms.flags) as (fd, size):
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
    with opened(name, folder, terms.flags) as (fd, size):
        length = header_length(os.pread(fd, N_FIRST, 0), size, terms.header_bytes)
        header = parsed(os.pread(fd, 8 + length, 0), size)
        if hasattr(os, "posix_fadvise"):
            os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_SEQUENTIAL)
        return StoredFile(path.absolute(), os.dup(fd), terms.flags, stamp_of(os.fstat(fd)), terms.own), header
