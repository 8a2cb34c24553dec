"""Small models to a file and back, for scripts that have no other way to write safetensors."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .header import DTYPES, encoded
from .opening import open_own
from .output import write_tensors

__all__ = ["load_tensors", "save_tensors"]

TYPES = {dtype.name: name for name, dtype in DTYPES.items() if name != "BF16"} | {"bfloat16": "BF16"}


def save_tensors(
    path: str | Path, arrays: Mapping[str, NDArray[Any]], *, metadata: Mapping[str, str] | None = None
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
    stored = {
        name: array.view(np.uint16)
        if array.dtype.name == "bfloat16"
        else np.ascontiguousarray(array, dtype=DTYPES[TYPES[array.dtype.name]]).reshape(array.shape)
        for name, array in given.items()
    }
    write_tensors(Path(path), header, stored)


def load_tensors(path: str | Path) -> dict[str, NDArray[Any]]:
    """Return the arrays of a safetensors file, or of several with an index; bfloat16 as its bits (uint16)."""
    checkpoint = open_own(Path(path), name="the file")
    return {name: tensor.values() for name, tensor in checkpoint.tensors.items()}
