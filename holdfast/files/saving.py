"""Arrays to a safetensors file and back: small models, and what a defence remembers between rounds."""

import hashlib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .._support.atomic import replacing
from ..core import Memory, Rule
from ..errors import DataError, InputError
from ..updates.layout import PIECE
from ..watching.states import memory_arrays, restored_memory
from .header import DTYPES, encoded
from .opening import open_own
from .room import Room

__all__ = ["load_memory", "load_tensors", "save_memory", "save_tensors"]

Array = NDArray[Any]

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
    given = {name: np.asarray(array) for name, array in arrays.items()}
    for name, array in given.items():
        if array.dtype.name not in TYPES:
            raise InputError(
                f"{name!r} cannot be stored: its type is {array.dtype}, not one of {', '.join(TYPES)}"
            )
    forms = {name: (TYPES[array.dtype.name], array.shape) for name, array in given.items()}
    header = encoded(forms, dict(metadata or {}))
    with replacing(Path(path)) as file:
        file.write(header.raw)
        for tensor in header.tensors:
            for piece in _pieces(given[tensor.name], tensor.type_name):
                file.write(piece)


def load_tensors(path: str | Path) -> dict[str, Array]:
    """Return the arrays of a safetensors file, or of several with an index; bfloat16 as its bits (uint16)."""
    checkpoint = open_own(Path(path), name="the file")
    return {name: tensor.values() for name, tensor in checkpoint.tensors.items()}


def save_memory(path: Path, rule: Rule, memory: Memory) -> None:
    """Write what a rule and a watch over it remember, whole or not at all, with a digest of it."""
    arrays = memory_arrays(rule, memory)
    said = {"holdfast": "state", "rule": rule.name, "digest": _digest(arrays)}
    save_tensors(path, arrays, metadata=said)


def load_memory(path: Path, rule: Rule, room: Room) -> Memory:
    """Return what a rule and a watch over it remember; a DataError if the file is damaged or another rule's.

    Without a file they remember nothing: this is the first round.
    """
    if not path.exists():
        return Memory()
    stored = open_own(path, name="the state")
    metadata = stored.headers[0].metadata
    if metadata.get("holdfast") != "state" or metadata.get("rule") != rule.name:
        whose = metadata.get("rule", "something else")
        raise DataError(f"the state, {path}, is that of {whose}, not of {rule.name}: choose another file")
    watched = [tensor for name, tensor in stored.tensors.items() if name.startswith("watch.")]
    n_bytes = sum(tensor.size * tensor.dtype.itemsize for tensor in watched)
    room.check_holds(n_bytes, "the memories of all clients")
    arrays: dict[str, Array] = {}
    for name, tensor in stored.tensors.items():
        flat = room.empty(tensor.size, tensor.dtype)
        tensor.read(0, flat)
        arrays[name] = flat.reshape(tensor.shape)
    is_older = set(metadata) == {"holdfast", "rule"}  # from before there were digests
    if not is_older and metadata.get("digest") != _digest(arrays):
        raise DataError(f"the state, {path}, is damaged: restore it, or remove it to remember nothing")
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


def _digest(arrays: Mapping[str, Array]) -> str:
    """Return what only the same names, types, shapes and numbers have."""
    found = hashlib.sha256()
    for name, array in arrays.items():
        type_name = TYPES[array.dtype.name]
        found.update(f"{name!r} {DTYPES[type_name]} {array.shape}".encode())
        for piece in _pieces(array, type_name):
            found.update(piece)
    return found.hexdigest()
