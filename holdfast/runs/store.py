"""A folder of results, kept as git keeps its objects: loose while they are new, then packed.

An entry is a JSON object with a `description`, all that determines it; its key is a digest of that. A new
entry is a file of its own, KEY.json. `pack` moves entries into a few files, TASK.jsonl, with one line per
entry and less detail. Reading looks for the loose file first, and checks whatever it finds.

Others may work in the folder meanwhile. An entry goes from the making to its loose file to a packed one, and
is removed from a place only after it is in the next. Reading goes the same way, and so misses none.
"""

import json
import os
import re
from collections.abc import Callable, Iterator, Mapping
from contextlib import suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, TypeVar

from .. import __version__
from .._support.atomic import write_whole
from .._support.keys import key_of
from .._support.locks import held, locked
from .._support.printable import printable
from ..errors import DataError
from . import epochs

__all__ = ["Entry", "Files", "checked", "files_of", "find", "pack", "read_all", "write_entry"]

Entry = dict[str, Any]
Copy = tuple[str, bytes | OSError]  # where it is, and what is there
T = TypeVar("T")


class Files(NamedTuple):
    """The files of a run, or of another entry, that is not packed."""

    result: Path
    model: Path  # the state after the last round
    making: Path  # what there is of a result before it is finished
    checkpoint: Path
    lock: Path  # held by the process that makes it


def files_of(key: str, folder: Path) -> Files:
    """Return where the files of an entry are while it is not packed."""
    endings = (".json", ".npz", ".making.json", ".making.npz", ".lock")
    return Files(*(folder / f"{key}{ending}" for ending in endings))


def write_entry(path: Path, description: Mapping[str, Any], *, data: str | None, **content: Any) -> None:
    """Write an entry made by this version of the code; `data` is the checksum of the examples."""
    made_by = {"code": epochs.code_epoch(description), "version": __version__, "data": data}
    head = {"key": key_of(description), "description": dict(description)}
    write_whole(path, _line({**head, **made_by, **content}))


def checked(content: bytes, *, key: str | None = None) -> Entry:
    """Return the entry that was stored; a DataError says why it cannot be used.

    It must have the key that its description gives and that was asked for, and come from code that gives the
    same results as today's.
    """
    try:
        entry: Entry = json.loads(content)
        description, own, code = entry["description"], entry["key"], entry["code"]
        is_own = key_of(description) == own
    except (ValueError, KeyError, TypeError, RecursionError) as error:
        why = printable(repr(error), limit=200)
        raise DataError(f"it is not a result, or a damaged one: {why}") from None
    if not is_own:
        raise DataError(f"its description does not give its key {printable(own)}: it was edited")
    if key is not None and own != key:
        raise DataError(f"it holds the result {own}, not {key}")
    epoch = epochs.code_epoch(description)
    if code != epoch:
        since = epochs.CHANGES[epoch - 1][1]
        raise DataError(f"it was made in code epoch {printable(code)}, and results changed since: {since}")
    return entry


def find(key: str, task: str, folder: Path, read: Callable[[Entry], T]) -> tuple[T | None, list[str]]:
    """Return what `read` makes of the entry with this key, and why other copies of it cannot be used.

    The loose file comes first, then the packed line, then the file in the making. `read` raises a DataError
    for what it cannot use.
    """
    unusable: list[str] = []
    for where, content in _copies(key, task, folder):
        try:
            return read(_entry(content, key=key)), unusable
        except (DataError, OSError) as error:
            unusable.append(f"{where} cannot be used: {_reason(error)}")
    return None, unusable


def read_all(folder: Path, read: Callable[[Entry], T]) -> tuple[list[T], dict[str, str]]:
    """Return what `read` makes of every entry in a folder, and [where] why something cannot be used."""
    found: dict[str, T] = {}
    unusable: dict[str, str] = {}
    for where, content in _everything(folder):
        try:
            entry = _entry(content)
            if entry["key"] not in found:  # the first copy is the one that `find` returns
                found[entry["key"]] = read(entry)
        except (DataError, OSError) as error:
            unusable[where] = _reason(error)
    return list(found.values()), unusable


def pack(folder: Path, compact: Callable[[Entry], Entry | None]) -> list[str]:
    """Move loose entries, as `compact` returns them, into packed files; return their keys.

    Those for which it returns None stay, as do those that cannot be used. The lines of a file are sorted by
    key, so that the same entries are the same bytes. Processes that pack one folder wait for each other.
    """
    if not any(folder.glob("*.json")):
        return []
    loose: dict[Path, tuple[os.stat_result, Path, Entry]] = {}
    with locked(folder / "pack.lock"):
        for path in sorted(folder.glob("*.json")):
            try:
                state = path.stat()
                entry = checked(path.read_bytes(), key=path.stem)
                compacted = compact(entry)
            except (DataError, OSError):  # whoever lists the folder says why
                continue
            if compacted is not None:
                loose[path] = state, _pack_path(_task_of(entry["description"]), folder), compacted
        for target in {target for _, target, _ in loose.values()}:
            lines = dict(_lines(target)) if target.is_file() else {}
            lines |= {own["key"]: _line(own) for _, where, own in loose.values() if where == target}
            write_whole(target, b"".join(line for _, line in sorted(lines.items())))
        for path, (state, _, entry) in loose.items():
            _remove(path, state, lock=files_of(entry["key"], folder).lock)
    return [entry["key"] for *_, entry in loose.values()]


def _remove(path: Path, state: os.stat_result, *, lock: Path) -> None:
    """Remove a loose file that is packed, unless it was replaced since, or will be."""
    with held(lock) as is_ours, suppress(FileNotFoundError):
        if is_ours and os.path.samestat(state, path.stat()):
            path.unlink()


def _copies(key: str, task: str, folder: Path) -> Iterator[Copy]:
    """Yield what is stored under a key, and where; what is in the making is read first and comes last."""
    files, packed = files_of(key, folder), _pack_path(task, folder)
    making = _whole(files.making) if files.making.is_file() else []
    if files.result.is_file():
        yield from _whole(files.result)
    if packed.is_file():
        yield from _packed(packed, key)
    yield from making


def _everything(folder: Path) -> Iterator[Copy]:
    """Yield all that a folder stores, and where, in the same order."""
    making = [copy for path in sorted(folder.glob("*.making.json")) for copy in _whole(path)]
    for path in sorted(folder.glob("*.json")):
        if not path.name.endswith(".making.json"):
            yield from _whole(path)
    for path in sorted(folder.glob("*.jsonl")):
        yield from _packed(path)
    yield from making


def _whole(path: Path) -> list[Copy]:
    """Return what a file holds, or why it cannot be read; nothing if it is gone."""
    content: bytes | OSError
    try:
        content = path.read_bytes()
    except OSError as error:
        if not os.path.lexists(path):
            return []
        content = error
    return [(printable(path, limit=300), content)]


def _packed(path: Path, key: str | None = None) -> Iterator[Copy]:
    """Yield the lines of a packed file, or the one of a key; the file where it cannot be read."""
    try:
        lines = _lines(path)
    except OSError:
        yield from _whole(path)
        return
    for own in lines if key is None else lines.keys() & {key}:
        yield f"{own} in {printable(path, limit=300)}", lines[own]


def _entry(content: bytes | OSError, *, key: str | None = None) -> Entry:
    if isinstance(content, OSError):
        raise content
    return checked(content, key=key)


def _reason(error: DataError | OSError) -> str:
    return f"it cannot be read: {error.strerror or error}" if isinstance(error, OSError) else str(error)


def _task_of(description: Mapping[str, Any]) -> str:
    """Return the name of the task that a run, or a study of a run, is about."""
    return str(description.get("run", description)["task"]["name"])


def _pack_path(task: str, folder: Path) -> Path:
    name = re.sub(r"[^\w.-]", "-", task)
    return folder / f"{name}.jsonl"


def _line(entry: Entry) -> bytes:
    return json.dumps(entry, ensure_ascii=False, allow_nan=False, separators=(",", ":")).encode() + b"\n"


def _lines(path: Path) -> Mapping[str, bytes]:
    state = path.stat()
    return _read_lines(path, state.st_ino, state.st_mtime_ns, state.st_size)


@lru_cache(maxsize=32)
def _read_lines(path: Path, inode: int, mtime: int, size: int) -> Mapping[str, bytes]:
    """Return the lines of a packed file by key; a line that has none is under its number."""
    found = {}
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        key = re.match(rb'\{"key":"([0-9a-f]{16})"', line)
        found[key[1].decode() if key else f"line {number}"] = line + b"\n"
    return found
