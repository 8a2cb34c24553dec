"""The next model on disk: the base plus the update, in the base's names, order, types and files.

Written piece by piece beside the old output, which it replaces when it is whole and on the disk.
"""

import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
from numpy.typing import NDArray

from .._support.atomic import replacing, replacing_folder, write_whole
from .._support.threads import in_order
from ..errors import DataError
from ..updates.layout import FLOATS, PIECE, moved, narrowed
from .header import Header
from .opening import Checkpoint
from .stored import StoredTensor

__all__ = ["check_output", "written_model"]

Array = NDArray[Any]


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


@contextmanager
def written_model(
    out: Path, base: Checkpoint, steps: Mapping[str, Array], buffers: Mapping[str, Array]
) -> Iterator[None]:
    """Write the base with some tensors moved by a flat step, and others replaced, beside the output.

    At the end of the context it takes the output's place. Within it all bytes are on the disk, and whatever
    fails leaves the output as it was. NotFiniteError if a moved tensor would not be finite.
    """

    def fill(file: BinaryIO, header: Header) -> None:
        file.write(header.raw)
        for name in (tensor.name for tensor in header.tensors):
            tensor = base.tensors[name]
            new = [_stored(tensor, buffers[name])] if name in buffers else _moved(tensor, steps.get(name))
            for piece in new:
                file.write(piece.view(np.uint8).data)
        file.flush()
        os.fsync(file.fileno())
        for stored in base.files:
            stored.check_own()

    if base.index is None:
        with replacing(out) as file:
            fill(file, base.headers[0])
            yield
        return
    with replacing_folder(out) as folder:
        for stored, header in zip(base.files, base.headers, strict=True):
            with replacing(folder / stored.path.name) as file:
                fill(file, header)
        write_whole(folder / base.index_name, base.index)
        yield


def _moved(tensor: StoredTensor, step: Array | None) -> Iterator[Array]:
    """Yield the numbers of a tensor, moved by the step if there is one, a piece at a time."""

    def piece(at: int) -> Array:
        old: Array = np.empty(min(PIECE, tensor.size - at), dtype=tensor.dtype)
        tensor.read(at, old)
        return old if step is None else moved(old, step[at : at + PIECE], tensor.layer.type_name)

    return in_order(piece, range(0, tensor.size, PIECE))


def _stored(tensor: StoredTensor, values: Array) -> Array:
    """Return a buffer as the file has it; bfloat16, which NumPy lacks, was float32 meanwhile."""
    if tensor.type_name != "BF16":
        return np.ascontiguousarray(values, dtype=tensor.dtype)
    limit = FLOATS["bfloat16"]
    return narrowed(np.clip(np.atleast_1d(values), -limit, limit), "bfloat16")
