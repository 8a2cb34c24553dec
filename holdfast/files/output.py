"""The next model on disk: the base plus the update, in the base's names, order, types and files.

Written piece by piece beside the old output, which it replaces when it is whole and on the disk.
"""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._support.atomic import remove_leftovers, replacing, replacing_folder
from .._support.threads import in_order
from ..errors import DataError
from ..updates.layout import PIECE, Layout, widened
from .header import Header
from .opening import Checkpoint, StoredTensor

__all__ = ["NotFiniteError", "check_output", "narrowed", "write_model", "write_tensors"]

Array = NDArray[Any]


class NotFiniteError(Exception):
    """The next model would hold infinite values."""


def check_output(out: Path, base: Checkpoint) -> None:
    """Raise, before any work is done, if the output could not be written there."""
    if not out.parent.is_dir():
        raise DataError(f"the output cannot be written: there is no folder {out.parent}")
    if not os.access(out.parent, os.W_OK):
        raise DataError(f"the output cannot be written: {out.parent} does not allow it")
    if base.index is None:
        if out.exists() and not out.is_file():
            raise DataError(f"the output must be a file, as the base is one; {out} is something else")
        return
    if out.exists() and not out.is_dir():
        raise DataError(f"the output must be a folder, as the base has several files; {out} is a file")
    ours = {base.index_name, *(file.path.name for file in base.files)}
    others = sorted({path.name for path in out.iterdir()} - ours) if out.exists() else []
    if others:
        raise DataError(
            f"the output replaces the whole folder {out}, which also holds {others[0]}: choose another"
        )


def write_model(
    out: Path,
    base: Checkpoint,
    layout: Layout,
    trained: tuple[str, ...],
    update: Array | None,
    buffers: Mapping[str, Array],
) -> None:
    """Write the base plus the flat update, with these buffers; without an update, the base as it is."""
    offsets = dict(zip(trained, layout.offsets, strict=False)) if update is not None else {}

    def pieces(tensor: StoredTensor, name: str) -> Iterator[Array]:
        if name in buffers:
            yield np.ascontiguousarray(buffers[name]).reshape(-1)
            return
        size = int(np.prod(tensor.shape, dtype=np.int64))

        def made(at: int) -> Array:
            old: Array = np.empty(min(PIECE, size - at), dtype=tensor.dtype)
            tensor.read(at, old)
            if name not in offsets:
                return old
            assert update is not None
            start = offsets[name] + at
            return moved(old, update[start : start + old.size], tensor.layer.type_name)

        yield from in_order(made, range(0, size, PIECE))

    remove_leftovers(out.parent, out.name)  # of runs that were killed: they are as large as a model
    if base.index is None:
        with replacing(out) as file:
            _write(file, base.files[0].header, base, pieces)
        return
    with replacing_folder(out) as folder:
        for stored in base.files:
            with replacing(folder / stored.path.name) as file:
                _write(file, stored.header, base, pieces)
        with replacing(folder / base.index_name) as file:
            file.write(base.index)


def _write(file: BinaryIO, header: Header, base: Checkpoint, pieces: Any) -> None:
    file.write(header.raw)
    for tensor in header.tensors:
        for piece in pieces(base.tensors[tensor.name], tensor.name):
            file.write(piece.view(np.uint8).data)


def write_tensors(path: Path, header: Header, arrays: Mapping[str, Array]) -> None:
    """Write a new safetensors file of our own, whole or not at all."""
    with replacing(path) as file:
        file.write(header.raw)
        for tensor in header.tensors:
            flat = np.ascontiguousarray(arrays[tensor.name]).reshape(-1)
            for at in range(0, flat.size, PIECE):
                file.write(flat[at : at + PIECE].view(np.uint8).data)


def moved(old: Array, update: Array, type_name: str) -> Array:
    """Return numbers plus their update, both in the tensor's type, as `params + update` in memory is.

    >>> moved(np.ones(2, np.float32), np.array([0.5, -1.0], np.float32), "float32")
    array([1.5, 0. ], dtype=float32)
    """
    wide = np.dtype(np.float64 if type_name == "float64" else np.float32)
    step = widened(narrowed(update, type_name), wide)
    with np.errstate(over="ignore", invalid="ignore"):
        new = narrowed(widened(old, wide) + step, type_name)
    if not np.isfinite(widened(new, wide)).all():
        raise NotFiniteError
    return new


def narrowed(values: Array, type_name: str) -> Array:
    """Return numbers in a tensor's type, rounded to nearest, ties to even; bfloat16 as its bits.

    >>> narrowed(np.array([1.0, 1e9], np.float32), "bfloat16")
    array([16256, 20078], dtype=uint16)
    """
    if type_name != "bfloat16":
        with np.errstate(over="ignore"):
            return values.astype(type_name, copy=False)
    with np.errstate(over="ignore"):
        bits = values.astype(np.float32).view(np.uint32)
    # Half of the last bit that stays, less one unless that bit is odd: a tie goes to the even one.
    rounded = (bits + (0x7FFF + (bits >> 16 & 1))) >> 16
    return np.where(np.isnan(bits.view(np.float32)), 0x7FC0, rounded).astype(np.uint16)
