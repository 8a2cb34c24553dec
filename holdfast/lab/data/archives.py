"""Archives from strangers: checked as a whole before anything in them is used, and never unpacked.

Their files are read where they are, each up to a size, so that nothing can land outside of a folder.
"""

import errno
import gzip
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from ..._support.printable import printable
from ...errors import DataError

__all__ = ["Archive", "open_archive"]

MOST_FILES = 1_000
LONGEST_HEADER = 1 << 20
BROKEN = (
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
    struct.error,
    EOFError,
    OSError,
    RuntimeError,
    ValueError,
)


class _Member(NamedTuple):
    name: str
    n_bytes: int
    is_folder: bool
    problem: str  # why it is not read; "" if it is a file or a folder as any other
    open: Callable[[], Any]


class _Unpacked(gzip.GzipFile):
    """What is in a .gz file; no more of it is read at once than `most`."""

    most: float = LONGEST_HEADER

    def read(self, size: int | None = -1) -> bytes:
        if size is None or not 0 <= size <= self.most:
            raise DataError(f"{self.name} was refused: a header claims {size or -1:,} bytes")
        return super().read(size)


@dataclass(frozen=True)
class Archive:
    """The files of an archive that was found harmless, by name."""

    path: Path
    members: Mapping[str, _Member]

    def open(self, name: str) -> IO[bytes]:
        """Return a file inside the archive."""
        if name not in self.members:
            raise DataError(f"{self.path} has no {name}; it has {printable(', '.join([*self.members][:5]))}")
        file: IO[bytes] = self.members[name].open()
        return file

    def read(self, name: str) -> bytes:
        """Return the bytes of a file inside the archive."""
        with self.open(name) as file:
            return file.read()


@contextmanager
def open_archive(path: Path, *, most_bytes: int) -> Iterator[Archive]:
    """Open a .zip, .whl or .tar.gz file; refuse links, devices, ways out, and more than `most_bytes`."""
    try:
        if path.suffix in (".zip", ".whl"):
            with zipfile.ZipFile(path) as zipped:
                yield Archive(path, _checked(path, _of_zip(zipped), most_bytes))
        else:
            with _Unpacked(path) as unpacked, tarfile.open(fileobj=unpacked, mode="r:") as tar:
                files = _checked(path, _of_tar(tar), most_bytes)
                unpacked.most = most_bytes  # only headers were read until now
                yield Archive(path, files)
    except BROKEN as error:
        if isinstance(error, OSError) and error.errno not in (None, errno.EINVAL):
            raise  # of the system: a full disk, say; EINVAL is a place that no file has
        raise DataError(
            f"{path} is not a whole archive: {printable(error) or type(error).__name__}"
        ) from None


def _of_tar(tar: tarfile.TarFile) -> Iterator[_Member]:
    for info in tar:
        problem = "" if info.isfile() or info.isdir() else "is a link or a device, not a file"
        yield _Member(info.name, info.size, info.isdir(), problem, partial(tar.extractfile, info))


def _of_zip(zipped: zipfile.ZipFile) -> Iterator[_Member]:
    for info in zipped.infolist():
        kind, problem = info.external_attr >> 28, ""  # of a Unix mode; 0 where another system packed
        if not info.is_dir() and kind not in (0, 0o10):
            problem = "is a link or a device, not a file"
        elif info.flag_bits & 1:
            problem = "is encrypted"
        elif info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            problem = f"is packed by method {info.compress_type}, not by deflate"
        yield _Member(info.filename, info.file_size, info.is_dir(), problem, partial(zipped.open, info))


def _checked(path: Path, members: Iterable[_Member], most_bytes: int) -> dict[str, _Member]:
    """Return the files of an archive by name, or raise for the first member that does not belong there."""
    files: dict[str, _Member] = {}
    total = 0
    for number, member in enumerate(members, start=1):
        name, total = member.name, total + member.n_bytes
        shown, parts = f"'{printable(name)}'", PurePosixPath(name.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or "\0" in name:
            raise DataError(f"{path} was refused: {shown} leads out of the archive")
        if member.problem:
            raise DataError(f"{path} was refused: {shown} {member.problem}")
        if member.n_bytes < 0 or total > most_bytes or number > MOST_FILES:
            raise DataError(
                f"{path} was refused: it holds more than {most_bytes:,} bytes or {MOST_FILES} files"
            )
        if name in files:
            raise DataError(f"{path} was refused: it holds {shown} twice")
        if not member.is_folder:
            files[name] = member
    return files
