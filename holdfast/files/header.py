"""The header of a safetensors file, read as a stranger's: nothing is believed before it is checked.

A file is 8 bytes with the header's length, the header in JSON, and the numbers of all tensors without gaps.
"""

import json
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support.printable import printable
from ..updates.layout import Unfit

__all__ = ["DTYPES", "FLOAT_TYPES", "N_FIRST", "Header", "Tensor", "encoded", "parsed", "strict_json"]

#: The types a tensor may have here, as NumPy holds them: bfloat16, which NumPy lacks, as its 16 bits.
DTYPES: dict[str, np.dtype[Any]] = {
    "F64": np.dtype("<f8"),
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "BF16": np.dtype("<u2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "I16": np.dtype("<i2"),
    "I8": np.dtype("i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U16": np.dtype("<u2"),
    "U8": np.dtype("u1"),
    "BOOL": np.dtype("?"),
}
#: Those that rules aggregate, by the names that NumPy and torch have for them.
FLOAT_TYPES = {"F64": "float64", "F32": "float32", "F16": "float16", "BF16": "bfloat16"}

#: More than any model's header needs, and what the format allows.
MAX_HEADER = 100_000_000
MAX_DIMENSIONS = 32
METADATA = "__metadata__"

#: As many of a file's first bytes as tell what it is.
N_FIRST = 128
PROTOCOLS = (b"\x02", b"\x03", b"\x04", b"\x05")  # of pickle
FROM_TORCH = "safetensors.torch.save_file(torch.load(FILE, weights_only=True), NEW)"
FROM_NUMPY = "safetensors.numpy.save_file(dict(numpy.load(FILE)), NEW)"


@dataclass(frozen=True)
class Tensor:
    """One tensor's place: type, shape, and its bytes, counted from the start of the file."""

    name: str
    type_name: str
    shape: tuple[int, ...]
    start: int
    stop: int


@dataclass(frozen=True)
class Header:
    """What stands before the numbers: the bytes themselves, and the tensors in the order of their numbers."""

    raw: bytes
    tensors: tuple[Tensor, ...]
    metadata: dict[str, str]


def encoded(tensors: dict[str, tuple[str, tuple[int, ...]]], metadata: dict[str, str]) -> Header:
    """Return the header of a new file with these tensors (type and shape), one after the other."""
    entries: dict[str, Any] = {METADATA: metadata} if metadata else {}
    at = 0
    for name, (type_name, shape) in tensors.items():
        stop = at + math.prod(shape) * DTYPES[type_name].itemsize
        entries[name] = {"dtype": type_name, "shape": list(shape), "data_offsets": [at, stop]}
        at = stop
    text = json.dumps(entries, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    raw = len(text).to_bytes(8, "little") + text
    return parsed(raw, len(raw) + at)


def check_format(first: bytes) -> None:
    """Raise Unfit, with how to convert it, if a file's first bytes are those of another format for models.

    A zip file names its first member after 30 bytes.

    >>> check_format(b"PK\\3\\4" + bytes(26) + b"weight.npy")  # doctest: +ELLIPSIS
    Traceback (most recent call last):
    holdfast.updates.layout.Unfit: is a file of numpy.savez, not safetensors; convert it: ...
    """
    if first[8:9] == b"{":  # a header, whose length may begin with the same bytes
        return
    is_zip = first.startswith(b"PK\x03\x04")
    if is_zip and b".npy" in first[30:N_FIRST]:
        raise Unfit(f"is a file of numpy.savez, not safetensors; convert it: {FROM_NUMPY}")
    if is_zip and b"data.pkl" in first[30:N_FIRST]:
        raise Unfit(f"is a file of torch.save, not safetensors; convert it: {FROM_TORCH}")
    if is_zip:
        raise Unfit("is a zip file, not safetensors")
    if first[:1] == b"\x80" and first[1:2] in PROTOCOLS:
        raise Unfit(f"is a pickle, not safetensors; if it is of torch.save, convert it: {FROM_TORCH}")


def header_length(first: bytes, file_size: int, limit: int = MAX_HEADER) -> int:
    """Return how long the header says it is, given the first bytes; Unfit if that cannot be."""
    check_format(first)
    if file_size < 8 or len(first) < 8:
        raise Unfit(f"is no safetensors file: {file_size} byte{'s' * (file_size != 1)}")
    length = int.from_bytes(first[:8], "little")
    if length > file_size - 8:
        raise Unfit(f"has a header of {length} bytes in a file of {file_size}: truncated, or not safetensors")
    if length > limit:
        raise Unfit(f"has a header of {length} bytes, more than the {limit} that are allowed")
    return length


def parsed(raw: bytes, file_size: int) -> Header:
    """Return the header, its first 8 bytes included; Unfit if anything in it is not as it must be."""
    length = header_length(raw, file_size)
    if raw[8:9] != b"{":
        raise Unfit("has a header that is not a JSON object")
    entries = strict_json(raw[8 : 8 + length])
    metadata = entries.pop(METADATA, {})
    if not isinstance(metadata, dict) or not all(isinstance(value, str) for value in metadata.values()):
        raise Unfit("has metadata that are not strings")
    tensors = [_tensor(name, entry, 8 + length) for name, entry in entries.items()]
    tensors.sort(key=lambda tensor: (tensor.start, tensor.stop))
    at = 8 + length
    for tensor in tensors:
        if tensor.start != at:
            what = "overlap" if tensor.start < at else "leave a hole"
            raise Unfit(f"has tensors that {what} before '{printable(tensor.name)}'")
        at = tensor.stop
    if at != file_size:
        raise Unfit(f"has {file_size} bytes, but its header describes {at}")
    return Header(raw[: 8 + length], tuple(tensors), metadata)


def strict_json(text: bytes, where: str = "a header") -> Any:
    """Return what the JSON says; Unfit if it is not JSON, or says something twice."""
    try:
        return json.loads(text.decode(), object_pairs_hook=_unique, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:  # UnicodeDecodeError and JSONDecodeError are ValueErrors
        raise Unfit(f"has {where} that is not JSON: {str(error)[:80]}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    entries = dict(pairs)
    if len(entries) != len(pairs):
        raise ValueError("it says something twice")
    "".join(entries).encode()  # half a surrogate pair is no text, whatever Python makes of it
    return entries


def _no_constant(name: str) -> Any:
    raise ValueError(f"it holds {name}")


def _tensor(name: str, entry: Any, data: int) -> Tensor:
    """Return one tensor as the header has it, its sizes checked against each other."""
    if not isinstance(entry, dict) or set(entry) != {"dtype", "shape", "data_offsets"}:
        raise Unfit(f"describes '{printable(name)}' by other than dtype, shape and data_offsets")
    type_name, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(type_name, str) or type_name not in DTYPES:
        raise Unfit(f"has '{printable(name)}' of an unknown type: {printable(type_name, limit=20)}")
    if not _are_counts(shape) or len(shape) > MAX_DIMENSIONS:
        raise Unfit(f"has '{printable(name)}' of an impossible shape")
    if not _are_counts(offsets) or len(offsets) != 2:
        raise Unfit(f"has '{printable(name)}' at impossible offsets")
    n_bytes = math.prod(shape) * DTYPES[type_name].itemsize
    if offsets[1] - offsets[0] != n_bytes:
        raise Unfit(
            f"has '{printable(name)}' in {offsets[1] - offsets[0]} bytes, but its shape needs {n_bytes}"
        )
    return Tensor(name, type_name, tuple(shape), data + offsets[0], data + offsets[1])


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and all(
        isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 2**63 for value in values
    )
