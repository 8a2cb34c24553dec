"""Archives from strangers: checked as a whole before anything in them is used, and never unpacked.

Their files are read where they are, each up to a size, so that nothing can land outside of a folder.
"""

import tarfile
import zipfile
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from ...errors import DataError

__all__ = ["Archive", "open_archive"]

MOST_FILES = 1_000
BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError)


class _Member(NamedTuple):
    name: str
    n_bytes: int
    is_folder: bool
    is_file: bool
    open: Callable[[], Any]


@dataclass(frozen=True)
class Archive:
    """The files of an archive that was found harmless, by name."""

    path: Path
    members: Mapping[str, _Member]

    def open(self, name: str) -> IO[bytes]:
        """Return a file inside the archive."""
        if name not in self.members:
            raise DataError(f"{self.path} has no {name}; it has {', '.join(list(self.members)[:5])}, ...")
        file: IO[bytes] = self.members[name].open()
        return file

    def read(self, name: str) -> bytes:
        """Return the bytes of a file inside the archive."""
        with self.open(name) as file:
            return file.read()


@contextmanager
def open_archive(path: Path, *, most_bytes: int) -> Iterator[Archive]:
    """Open a .zip or .tar.gz file; refuse links, devices, paths that lead out, and more than `most_bytes`."""
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as zipped:
                yield Archive(path, _checked(path, _of_zip(zipped), most_bytes))
        else:
            with tarfile.open(path, "r:gz") as tar:
                yield Archive(path, _checked(path, _of_tar(tar), most_bytes))
    except BROKEN as error:
        raise DataError(f"{path} is not a whole archive: {error or type(error).__name__}") from None


def _of_tar(tar: tarfile.TarFile) -> Iterator[_Member]:
    for info in tar:
        yield _Member(info.name, info.size, info.isdir(), info.isfile(), partial(tar.extractfile, info))


def _of_zip(zipped: zipfile.ZipFile) -> Iterator[_Member]:
    for info in zipped.infolist():
        kind = info.external_attr >> 28  # of a Unix mode; 0 where another system packed
        is_file = kind in (0, 0o10) and not info.is_dir()
        yield _Member(info.filename, info.file_size, info.is_dir(), is_file, partial(zipped.open, info))


def _checked(path: Path, members: Iterable[_Member], most_bytes: int) -> dict[str, _Member]:
    """Return the files of an archive by name, or raise for the first member that does not belong there."""
    files: dict[str, _Member] = {}
    total = 0
    for member in members:
        name, total = member.name, total + member.n_bytes
        parts = PurePosixPath(name.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or "\0" in name:
            raise DataError(f"{path} was refused: {name!r} leads out of the archive")
        if not (member.is_file or member.is_folder):
            raise DataError(f"{path} was refused: {name!r} is a link or a device, not a file")
        if total > most_bytes or len(files) >= MOST_FILES:
            raise DataError(
                f"{path} was refused: it holds more than {most_bytes:,} bytes or {MOST_FILES} files"
            )
        if name in files:
            raise DataError(f"{path} was refused: it holds {name!r} twice")
        if member.is_file:
            files[name] = member
    return files
