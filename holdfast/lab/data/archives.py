"""Archives from strangers: looked through as a whole before anything in them is used, and never unpacked.

Their files are read where they are, each up to a size, so that nothing can land outside of a folder.
"""

import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath
from typing import IO, Any, NamedTuple

from ...errors import DataError

__all__ = ["Archive", "open_archive"]

MOST_FILES = 1_000
BROKEN = (tarfile.TarError, zipfile.BadZipFile, zlib.error, EOFError, OSError, NotImplementedError)


class _Member(NamedTuple):
    name: str
    n_bytes: int
    is_file: bool
    is_folder: bool


class Archive:
    """The files of an archive that was found harmless. Made by `open_archive`."""

    def __init__(self, path: Path, opener: Any, names: dict[str, Any]) -> None:
        """Keep what gives the files by name."""
        self.path = path
        self._open = opener
        self._names = names

    def open(self, name: str) -> IO[bytes]:
        """Return a file inside the archive."""
        if name not in self._names:
            raise DataError(f"{self.path} has no {name}; it has {', '.join(list(self._names)[:5])}, ...")
        file: IO[bytes] = self._open(self._names[name])
        return file

    def read(self, name: str) -> bytes:
        """Return the bytes of a file inside the archive."""
        with self.open(name) as file:
            return file.read()


@contextmanager
def open_archive(path: Path, *, most_bytes: int) -> Iterator[Archive]:
    """Open a .zip, .tar.gz or .tgz; refuse links, devices, paths that lead out, and more than `most_bytes`.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder) / "a.zip"
    ...     with zipfile.ZipFile(path, "w") as archive:
    ...         archive.writestr("data/a.txt", "hello")
    ...     with open_archive(path, most_bytes=100) as archive:
    ...         archive.read("data/a.txt")
    b'hello'
    """
    try:
        if path.suffix == ".zip":
            with zipfile.ZipFile(path) as zipped:
                infos = [(_of_zip(info), info) for info in zipped.infolist()]
                yield Archive(path, zipped.open, _members(path, iter(infos), most_bytes))
        else:
            with tarfile.open(path, "r:gz") as tar:
                members = ((_of_tar(info), info) for info in tar)
                yield Archive(path, tar.extractfile, _members(path, members, most_bytes))
    except BROKEN as error:
        raise DataError(f"{path} is no whole archive: {error or type(error).__name__}") from None


def _members(path: Path, members: Iterator[tuple[_Member, Any]], most_bytes: int) -> dict[str, Any]:
    """Return what is in an archive by name, or raise for the first that does not belong there."""
    names: dict[str, Any] = {}
    total = 0
    for member, info in members:
        total += member.n_bytes
        parts = PurePosixPath(member.name.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or "\0" in member.name:
            raise DataError(f"{path} was refused: {member.name!r} leads out of the archive")
        if not (member.is_file or member.is_folder):
            raise DataError(f"{path} was refused: {member.name!r} is a link or a device, not a file")
        if total > most_bytes or len(names) >= MOST_FILES:
            raise DataError(
                f"{path} was refused: it holds more than {most_bytes:,} bytes or {MOST_FILES} files"
            )
        if member.name in names:
            raise DataError(f"{path} was refused: it holds {member.name!r} twice")
        if member.is_file:
            names[member.name] = info
    return names


def _of_tar(info: tarfile.TarInfo) -> _Member:
    return _Member(info.name, info.size, info.isfile(), info.isdir())


def _of_zip(info: zipfile.ZipInfo) -> _Member:
    kind = info.external_attr >> 28  # of a Unix mode; 0 where another system packed
    return _Member(info.filename, info.file_size, kind in (0, 0o10) and not info.is_dir(), info.is_dir())
