"""From Flower's arrays to NumPy's, read in place, and back. An attacker writes every byte of the first.

Flower holds an array as the bytes of an .npy file, beside a shape and a type that are declared. The file's
header is matched, never evaluated, and nothing is allocated: what comes back is a view of the bytes.
"""

import enum
import math
import re
from functools import cache
from typing import Any

import numpy as np
from flwr.app import Array, ArrayRecord
from numpy.typing import NDArray

from .._support.printable import printable
from ..errors import InputError
from ..updates.layout import Unfit

__all__ = ["Code", "Refusal", "model_arrays", "model_record", "numbers_in"]

#: What np.save writes, in one spelling. A header that is longer than this cannot be a model's.
HEADER = re.compile(
    rb"\{'descr': '([<>|](?:f[248]|[iu][1248]|b1))', 'fortran_order': (True|False),"
    rb" 'shape': \(((?:\d{1,18}, ?){0,32}(?:\d{1,18})?)\),? ?\} *\n"
)
LONGEST_HEADER = 10_000
MAGIC = b"\x93NUMPY"


class Code(enum.IntEnum):
    """Why a reply was not used: the number that stands in `holdfast-dropped-codes`. None is used twice."""

    ERROR = 1  # the node reported an error instead of a result
    UNREADABLE = 2  # no content, or what cannot be read at all
    RECORDS = 3  # not exactly one ArrayRecord (in training) and one MetricRecord
    NAMES = 4  # arrays are missing, or there are more than the model has
    SHAPE = 5  # an array has another shape than the model's
    TYPE = 6  # an array has another kind of type, or is serialised in another way
    PAYLOAD = 7  # the bytes of an array do not hold what it declares
    VALUES = 8  # NaN, infinite or overflowing values, negative variances
    EXAMPLES = 9  # the number of examples is missing, or cannot be
    UNASKED = 11  # from a node that was not asked, a second reply, or one to another message
    SILENT = 12  # asked, and no reply came
    EXPELLED = 13  # by the watch: it is heard, and has no say
    BANNED = 14  # by the operator, or excluded from the start: it is not heard
    NO_SAY = 15  # not yet heard twice, or suspected by a wary watch


class Refusal(Unfit):
    """A reply, or a part of it, that cannot be used, and the code that says why."""

    def __init__(self, code: Code, reason: str) -> None:
        """Keep the code beside the reason."""
        super().__init__(reason)
        self.code = code


def numbers_in(array: Array, *, like: NDArray[Any] | None = None) -> NDArray[Any]:
    """Return the numbers that lie in an array's bytes, as a view; `like` is the model's own array.

    Raises Refusal if they are not what is declared, or of another shape or kind than the model's.
    """
    if array.stype != "numpy.ndarray":
        raise Refusal(Code.TYPE, f"serialised as {printable(array.stype)}, not as numpy.ndarray")
    if not isinstance(array.data, bytes):
        raise Refusal(Code.PAYLOAD, f"its data is {type(array.data).__name__}, not bytes")
    shape = tuple(array.shape)
    if like is not None and shape != like.shape:
        raise Refusal(Code.SHAPE, f"wrong shape: {printable(shape)}, not {like.shape}")
    dtype, is_fortran, held, start = _header(array.data)
    if held != shape:
        raise Refusal(Code.PAYLOAD, f"declares shape {printable(shape)}, holds {printable(held)}")
    if array.dtype not in _names(dtype):
        raise Refusal(Code.PAYLOAD, f"declares type {printable(array.dtype)}, holds {dtype}")
    if like is not None and not _is_kind(dtype, like.dtype):
        raise Refusal(Code.TYPE, f"wrong type: {dtype}, not {like.dtype}")
    n_bytes = math.prod(held) * dtype.itemsize
    if len(array.data) - start != n_bytes:
        raise Refusal(Code.PAYLOAD, f"holds {len(array.data) - start} bytes of numbers, not {n_bytes}")
    if n_bytes == 0:
        return np.zeros(held, dtype)
    flat = np.frombuffer(array.data, dtype, offset=start)
    return flat.reshape(held[::-1]).T if is_fortran else flat.reshape(held)


def model_arrays(record: ArrayRecord) -> dict[str, NDArray[Any]]:
    """Return the arrays of the server's own model by name, as views."""
    found = {}
    for name, array in record.items():
        try:
            found[name] = numbers_in(array)
        except Refusal as reason:
            raise InputError(f"the global model's array {name!r} cannot be read: {reason}") from None
    return found


def model_record(arrays: dict[str, NDArray[Any]]) -> ArrayRecord:
    """Return the arrays as Flower sends them, in the same order; the dict is emptied on the way, for room."""
    record = ArrayRecord()
    for name in list(arrays):
        record[name] = Array(np.asarray(arrays.pop(name)))
    return record


def _header(data: bytes) -> tuple[np.dtype[Any], bool, tuple[int, ...], int]:
    """Return type, order and shape that an .npy file's header states, and where its numbers start."""
    size_bytes = {b"\x01\x00": 2, b"\x02\x00": 4}.get(data[6:8])
    if data[:6] != MAGIC or size_bytes is None:
        raise Refusal(Code.PAYLOAD, "its bytes are not those of an .npy file")
    first = 8 + size_bytes
    start = first + int.from_bytes(data[8:first], "little")
    if start - first > LONGEST_HEADER or start > len(data):
        raise Refusal(Code.PAYLOAD, f"its header claims {start - first} bytes")
    found = HEADER.fullmatch(data, first, start)
    if found is None:
        raise Refusal(Code.PAYLOAD, "its header is not that of an array of numbers")
    shape = tuple(int(number) for number in found[3].split(b",") if number.strip())
    return np.dtype(found[1].decode()), found[2] == b"True", shape, start


@cache
def _names(dtype: np.dtype[Any]) -> tuple[str, str]:
    """Return how a type may be declared; there are few of them, and finding its name takes NumPy long."""
    return str(dtype), dtype.name


def _is_kind(sent: np.dtype[Any], own: np.dtype[Any]) -> bool:
    """Return whether the one can stand for the other: floats for floats of any size, and so on."""
    return (sent.kind in "iu") if own.kind in "iu" else sent.kind == own.kind
