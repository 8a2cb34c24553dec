"""Arrays to a safetensors file and back: small models, and what a defence remembers between rounds."""

import hashlib
import logging
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.atomic import PRIVATE, replacing
from ..core import Memory, Rule
from ..errors import DataError, InputError
from ..updates.layout import PIECE
from ..watching.states import memory_arrays, restored_memory
from .header import DTYPES, encoded
from .opening import open_own
from .room import Room

__all__ = ["load_memory", "load_tensors", "save_memory", "save_tensors"]

Array = NDArray[Any]

log = logging.getLogger("holdfast")

TYPES = {dtype.name: name for name, dtype in DTYPES.items() if name != "BF16"} | {"bfloat16": "BF16"}


def save_tensors(
    path: str | Path, arrays: Mapping[str, Array], *, metadata: Mapping[str, str] | None = None
) -> None:
    """Write arrays to a safetensors file, whole or not at all.

    >>> import tempfile
    >>> path = Path(tempfile.mkdtemp()) / "model.safetensors"
    >>> save_tensors(path, {"w": np.ones(2, np.float32)})
    >>> load_tensors(path)
    {'w': array([1., 1.], dtype=float32)}
    """
    _write(Path(path), arrays, dict(metadata or {}), mode=None)


def _write(path: Path, arrays: Mapping[str, Array], metadata: dict[str, str], *, mode: int | None) -> None:
    """Write arrays whole or not at all; `mode` is for a file that is new."""
    given = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in given.items():
        if array.dtype.name not in TYPES:
            raise InputError(
                f"{name!r} cannot be stored: its type is {array.dtype}, not one of {', '.join(TYPES)}"
            )
    forms = {name: (TYPES[array.dtype.name], array.shape) for name, array in given.items()}
    header = encoded(forms, metadata)
    with replacing(path, mode=mode) as file:
        file.write(header.raw)
        for tensor in header.tensors:
            for piece in _pieces(given[tensor.name], tensor.type_name):
                file.write(piece)


def load_tensors(path: str | Path) -> dict[str, Array]:
    """Return the arrays of a safetensors file, or of several with an index; bfloat16 as its bits (uint16)."""
    checkpoint = open_own(Path(path), name="the file")
    return {name: tensor.values() for name, tensor in checkpoint.tensors.items()}


def save_memory(path: Path, rule: Rule, memory: Memory) -> None:
    """Write what a rule and a watch over it remember, whole or not at all, with a digest of it.

    Only its owner may read a new file: whoever knows the watch's sample can hide from the watch.
    """
    arrays = memory_arrays(rule, memory)
    said = {"holdfast": "state", "rule": rule.name, "digest": _digest(arrays, rule.name)}
    _write(path, arrays, said, mode=PRIVATE)


def load_memory(path: Path, rule: Rule, room: Room) -> Memory:
    """Return what a rule and a watch over it remember; a DataError if the file is damaged.

    Without a file they remember nothing: this is the first round. After another rule, what that one kept is
    of no use, and this one starts anew; the watch remembers its clients whatever the rule.
    """
    if not path.exists():
        return Memory()
    stored = open_own(path, name="the state")
    metadata = stored.headers[0].metadata
    if metadata.get("holdfast") != "state":
        raise DataError(f"the state, {path}, is another safetensors file: choose another name for the state")
    watched = [tensor for name, tensor in stored.tensors.items() if name.startswith("watch.")]
    n_bytes = sum(tensor.size * tensor.dtype.itemsize for tensor in watched)
    room.check_holds(n_bytes, "the memories of all clients")
    arrays: dict[str, Array] = {}
    for name, tensor in stored.tensors.items():
        flat = room.empty(tensor.size, tensor.dtype)
        tensor.read(0, flat)
        arrays[name] = flat.reshape(tensor.shape)
    made_with = metadata.get("rule", "")
    is_older = set(metadata) == {"holdfast", "rule"}  # from before there were digests
    known = (_digest(arrays, made_with), _digest(arrays))  # the first ones did not cover the rule's name
    if not is_older and metadata.get("digest") not in known:
        raise DataError(f"the state, {path}, is damaged: restore it, or remove it to remember nothing")
    if made_with != rule.name:
        kept = {name: values for name, values in arrays.items() if name.startswith(("watch.", "start."))}
        if len(kept) < len(arrays):
            message = "%s was made with %s; the state of %s starts anew%s"
            stays = "; what the watch remembers of the clients stays" if kept else ""
            log.warning(message, path, made_with, rule.name, stays)
        arrays = kept
    try:
        return restored_memory(rule, arrays)
    except ValueError as error:
        raise DataError(f"the state, {path}, does not fit: {error}") from None


def _pieces(array: Array, type_name: str) -> Iterator[memoryview]:
    """Yield the bytes of an array as a file holds them."""
    flat = np.ascontiguousarray(array).reshape(-1)
    bits = flat.view(np.uint16) if type_name == "BF16" else flat
    for at in range(0, bits.size, PIECE):
        yield bits[at : at + PIECE].astype(DTYPES[type_name], copy=False).view(np.uint8).data


def _digest(arrays: Mapping[str, Array], rule: str = "") -> str:
    """Return what only the same rule, names, types, shapes and numbers have."""
    found = hashlib.sha256(rule.encode())
    for name, array in arrays.items():
        type_name = TYPES[array.dtype.name]
        found.update(f"{name!r} {DTYPES[type_name]} {array.shape}".encode())
        for piece in _pieces(array, type_name):
            found.update(piece)
    return found.hexdigest()
