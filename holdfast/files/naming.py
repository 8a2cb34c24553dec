"""Clients' names: each follows from the client's own path and what the operator chose, from nothing else."""

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from .._support.printable import printable
from ..errors import InputError
from ..updates.layout import Unfit

__all__ = ["ClientFiles", "name_clients"]

#: No path is longer, even if all of it is escaped.
LONGEST_PATH = 1 << 14
#: Characters of a path in the reason why a client is dropped.
SHOWN = 110


@dataclass(frozen=True)
class ClientFiles:
    """The paths of a round by client; a client with several is dropped."""

    by_client: Mapping[str, Sequence[Path]]
    notes: tuple[str, ...] = ()  # for the operator

    @property
    def paths(self) -> tuple[Path, ...]:
        """All paths of the round."""
        return tuple(path for paths in self.by_client.values() for path in paths)

    def path_of(self, client: str) -> Path:
        """Return the only path of a client; raise Unfit if there are several, whosever they are."""
        path, *others = self.by_client[client]
        if not others:
            return path
        which = f"{_shortened(path)} and {_shortened(others[0])}"
        if len(others) == 1:
            raise Unfit(f"two files have this name: {which}")
        raise Unfit(f"{1 + len(others)} files have this name, among them {which}")


def name_clients(
    clients: Sequence[str | Path] | Mapping[str, str | Path], folder: str | Path | None = None
) -> ClientFiles:
    """Name the client of each path: by its file, by its folder in `folder`, or as a mapping names it.

    Names are decided before anything is opened. Characters that cannot be printed are escaped, and so are
    backslashes, so that different names stay different.

    >>> [*name_clients(["round7/ann.safetensors", "round7/bob"]).by_client]
    ['ann', 'bob']
    >>> [*name_clients(["in/ann/model.safetensors", "in/eve/ann.safetensors"], "in").by_client]
    ['ann', 'eve']
    """
    if isinstance(clients, Mapping):
        if folder is not None:
            raise InputError("a mapping names its clients already: leave out names_in=")
        named = [(name, Path(path)) for name, path in clients.items()]
    else:
        named = [(_name_of(Path(path), folder), Path(path)) for path in clients]
    if not named:
        raise InputError("a round needs at least one client's file")
    by_client: dict[str, list[Path]] = {}
    seen: set[str] = set()
    for name, path in named:
        if not isinstance(name, str):
            raise InputError(f"the name of a client must be text; got {name!r}")
        whole = os.path.abspath(path)
        if whole in seen:
            raise InputError(f"{path} is given twice: one file per client")
        seen.add(whole)
        by_client.setdefault(printable(name.replace("\\", "\\\\"), limit=LONGEST_PATH), []).append(path)
    n_folders = len({os.path.dirname(whole) for whole in seen})
    if n_folders == 1 or folder is not None or isinstance(clients, Mapping):
        return ClientFiles(by_client)
    note = (
        f"clients are named by their files, which are in {n_folders} folders; if each client has a folder of"
        " its own, name clients by it: --names-in FOLDER (names_in=)"
    )
    return ClientFiles(by_client, (note,))


def _name_of(path: Path, folder: str | Path | None) -> str:
    """Return the name of a file without its endings, or of the folder in `folder` that it is in."""
    whole = Path(os.path.abspath(path))
    parts: tuple[str, ...] = (whole.name,)
    if folder is not None:
        above = Path(os.path.abspath(folder))
        if above not in whole.parents:
            raise InputError(
                f"{path} is not inside {folder}: --names-in (names_in=) must name the folder that holds"
                " the folders of all clients"
            )
        parts = whole.relative_to(above).parts
    if len(parts) > 1:
        return parts[0]
    bare = parts[0].removesuffix(".json").removesuffix(".index").removesuffix(".safetensors")
    return bare or parts[0]


def _shortened(path: Path) -> str:
    text = printable(path, limit=LONGEST_PATH)
    return text if len(text) <= SHOWN else f"{text[: SHOWN // 2]}...{text[3 - SHOWN // 2 :]}"
