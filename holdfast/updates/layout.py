"""The layers of one update (shapes, types), and the way from them to flat numbers and back.

NumPy arrays and PyTorch tensors on the CPU are read in place, tensors on other devices are copied. Neither
PyTorch nor JAX is imported here: whoever hands over a tensor has done so. bfloat16, which NumPy does not
know, is carried as its 16 bits (uint16).
"""

import math
import sys
from dataclasses import dataclass
from functools import cache, cached_property
from itertools import accumulate
from numbers import Real
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError

__all__ = [
    "FLOATS",
    "PIECE",
    "PLAIN",
    "Layer",
    "Layout",
    "NotFiniteError",
    "Unfit",
    "all_finite",
    "is_numbers",
    "moved",
    "narrowed",
    "widened",
]

Array = NDArray[Any]

#: The types an update may have, and the largest number each can hold.
FLOATS = {
    "bfloat16": float.fromhex("0x1.fep127"),
    "float16": float(np.finfo(np.float16).max),
    "float32": float(np.finfo(np.float32).max),
    "float64": float(np.finfo(np.float64).max),
}
PLAIN = frozenset(np.dtype(name) for name in FLOATS if name != "bfloat16")  # those that NumPy knows

#: Numbers that are looked at in one go where a copy of all would be as large as a model.
PIECE = 1 << 20


class Unfit(Exception):  # noqa: N818  (a verdict on what somebody sent, never raised to a user)
    """What was sent cannot be an update; the message says why."""


class NotFiniteError(Exception):
    """A model moved by its update would hold values that its type cannot."""


@dataclass(frozen=True)
class Layer:
    """Shape and type of one array of an update.

    >>> layer, values = Layer.read(np.zeros((2, 3), dtype=np.float16))
    >>> layer.shape, layer.type_name
    ((2, 3), 'float16')
    """

    shape: tuple[int, ...]
    dtype: Any  # a NumPy or a torch dtype
    library: str = "numpy"  # whose arrays come back: numpy, torch or jax
    device: Any = None  # of a tensor

    @classmethod
    def read(cls, given: Any, *, floats_only: bool = True) -> "tuple[Layer, Array]":
        """Return the layer's form and its numbers, without a copy where the memory can be shared."""
        library = type(given).__module__.partition(".")[0]
        torch = sys.modules.get("torch")
        if torch is not None and isinstance(given, torch.Tensor):
            tensor = given.detach().resolve_neg()
            layer = cls(tuple(tensor.shape), tensor.dtype, "torch", tensor.device)
            values = (tensor.view(torch.uint16) if tensor.dtype is torch.bfloat16 else tensor).cpu().numpy()
        elif np.ma.is_masked(given):
            raise Unfit("masked values, which no rule can aggregate: fill them in")
        else:
            values = np.asarray(given)
            layer = cls(values.shape, values.dtype, "jax" if library in ("jax", "jaxlib") else "numpy")
            if layer.type_name == "bfloat16":
                values = values.view(np.uint16)
        if floats_only and layer.type_name not in FLOATS:
            raise Unfit(f"wrong type: {layer.type_name}, not one of {', '.join(FLOATS)}")
        return layer, values

    @property
    def type_name(self) -> str:
        """The name both NumPy and torch have for the type, whatever its byte order."""
        return _type_name(self.dtype)

    @property
    def size(self) -> int:
        """How many numbers it holds."""
        return math.prod(self.shape)

    def restored(self, values: Array) -> Any:
        """Return flat numbers in this layer's shape and type."""
        return self.wrapped(narrowed(values, self.type_name))

    def wrapped(self, stored: Array) -> Any:
        """Return flat numbers of this layer's type (bfloat16 as bits) as an array of its library."""
        shaped = np.asarray(stored).reshape(self.shape)
        is_brain = self.type_name == "bfloat16"
        if self.library == "torch":
            tensor = sys.modules["torch"].from_numpy(shaped)
            return (tensor.view(self.dtype) if is_brain else tensor).to(self.device)
        array = shaped.view(self.dtype) if is_brain else shaped.astype(self.dtype, copy=False)
        return sys.modules["jax"].numpy.asarray(array) if self.library == "jax" else array


@dataclass(frozen=True)
class Layout:
    """The form of one update: the one that counts is the server's own.

    >>> layout = Layout.of([np.zeros((2, 2)), np.zeros(3)])
    >>> layout.dim, layout.restored(np.arange(7.0))[1]
    (7, array([4., 5., 6.]))
    """

    layers: tuple[Layer, ...]
    is_single: bool  # one array rather than a list of layers
    flat_dtype: np.dtype[Any] | None = None  # if given, an update stays one flat array of this type
    names: tuple[str, ...] = ()  # of the layers, for messages

    @classmethod
    def of(cls, given: Any, *, name: str = "update") -> "Layout":
        """Return the form of what the server holds; `name` is what an error calls it."""
        is_single = not isinstance(given, list | tuple) or is_numbers(given)
        try:
            layers = tuple(_read(layer)[0] for layer in ([given] if is_single else given))
        except Unfit as reason:
            raise InputError(f"{name}: {reason}") from None
        layout = cls(layers, is_single)
        if layout.dim == 0:
            raise InputError(f"{name} holds no numbers: its shape is {layout.described}")
        return layout

    @cached_property
    def offsets(self) -> tuple[int, ...]:
        """Where each layer starts in the flat update, and where the last one ends."""
        return (0, *accumulate(layer.size for layer in self.layers))

    @property
    def dim(self) -> int:
        """How many numbers an update holds."""
        return self.offsets[-1]

    @cached_property
    def compute_dtype(self) -> np.dtype[Any]:
        """The type that blocks are worked on in: float64 if any layer has it, else float32."""
        if self.flat_dtype is not None:
            return self.flat_dtype
        is_double = any(layer.type_name == "float64" for layer in self.layers)
        return np.dtype(np.float64 if is_double else np.float32)

    @property
    def described(self) -> str:
        """The shape in words, for messages."""
        if self.is_single:
            return str(self.layers[0].shape)
        return f"{len(self.layers)} layers, {self.dim} numbers"

    def accept(self, given: Any) -> tuple[Array, ...]:
        """Return the numbers of a client's update, layer by layer; raise Unfit if its form is another."""
        is_list = isinstance(given, list | tuple) and not (self.is_single and is_numbers(given))
        if is_list == self.is_single:
            got = f"a list of {len(given)}" if is_list else "one array"
            raise Unfit(f"wrong form: {got}, not {'one array' if self.is_single else 'a list of layers'}")
        parts = [given] if self.is_single else given
        if len(parts) != len(self.layers):
            raise Unfit(f"wrong number of layers: {len(parts)}, not {len(self.layers)}")
        arrays = tuple(self._numbers(i, part) for i, part in enumerate(parts))
        for i, (array, own) in enumerate(zip(arrays, self.layers, strict=True)):
            if array.shape != own.shape:
                where = "" if self.is_single else f" of {self.names[i]!r}" if self.names else f" in layer {i}"
                raise Unfit(f"wrong shape{where}: {array.shape}, not {own.shape}")
        return arrays

    def _numbers(self, i: int, part: Any) -> Array:
        try:  # plain arrays, the usual case, need no reading: a model may have many layers
            return part if type(part) is np.ndarray and part.dtype in PLAIN else _read(part)[1]
        except Unfit as reason:
            where = "" if self.is_single else f"{self.names[i]!r}: " if self.names else f"layer {i}: "
            raise Unfit(f"{where}{reason}") from None

    def flat(self, given: Any, *, name: str) -> Array:
        """Return something the server holds in this form (a reference update, say) as one flat array.

        >>> Layout.of([np.zeros((1, 2)), np.zeros(1)]).flat([np.ones((1, 2)), np.zeros(1)], name="reference")
        array([1., 1., 0.])
        """
        if isinstance(given, np.ndarray) and given.shape == (self.dim,) and given.dtype == self.compute_dtype:
            flat = given
        else:
            try:
                arrays = self.accept(given)
            except Unfit as reason:
                raise InputError(f"{name} must have the form of an update: {reason}") from None
            flat = np.concatenate([widened(array.reshape(-1), self.compute_dtype) for array in arrays])
        if not all_finite(flat):
            raise InputError(f"{name} holds NaN or infinite values")
        return flat

    def restored(self, flat: Array) -> Any:
        """Return flat numbers in the form of one update."""
        if self.flat_dtype is not None:
            return flat
        if self.is_single:
            return self.layers[0].restored(flat)
        starts = zip(self.layers, self.offsets, strict=False)
        return [layer.restored(flat[start : start + layer.size]) for layer, start in starts]


@cache
def _type_name(dtype: Any) -> str:
    """Return a type's name; there are few types, and finding a name takes NumPy long."""
    return str(dtype.name if isinstance(dtype, np.dtype) else dtype).removeprefix("torch.")


def all_finite(values: Array) -> bool:
    """Return whether no number is NaN or infinite, looking at a piece at a time."""
    flat = values.reshape(-1)
    pieces = (flat[at : at + PIECE] for at in range(0, flat.size, PIECE))
    return all(bool(np.isfinite(_floats(piece)).all()) for piece in pieces)


def _read(given: Any) -> tuple[Layer, Array]:
    """Return the form and the numbers of one array, or of a list of plain numbers."""
    try:  # nothing that a client sends raises anything but Unfit
        if is_numbers(given):
            given = np.asarray(given, dtype=np.float64)
        elif not hasattr(given, "__array__") and not isinstance(given, Real):
            raise Unfit(f"neither an array nor a list of arrays: {type(given).__name__}")
        return Layer.read(given)
    except Unfit:
        raise
    except Exception as error:
        raise Unfit(f"cannot be read as an array: {type(error).__name__}") from None


def is_numbers(given: Any) -> bool:
    """Return whether this is a list of plain numbers, which stands for one array."""
    return isinstance(given, list | tuple) and bool(given) and all(isinstance(x, Real) for x in given)


def widened(values: Array, dtype: np.dtype[Any]) -> Array:
    """Return the numbers in the type they are worked on in; what does not fit becomes infinite.

    >>> widened(np.array([0x3F80], dtype=np.uint16), np.dtype(np.float32))  # bfloat16 1.0
    array([1.], dtype=float32)
    """
    with np.errstate(over="ignore"):
        return _floats(values).astype(dtype, copy=False)


def _floats(values: Array) -> Array:
    """Return bfloat16's bits as float32, anything else as it is."""
    if values.dtype != np.uint16:
        return values
    return (values.astype(np.uint32) << 16).view(np.float32)


def narrowed(values: Array, type_name: str) -> Array:
    """Return numbers in a layer's type, rounded to nearest, ties to even; bfloat16 as its bits.

    >>> narrowed(np.array([1.0, 1e9], np.float32), "bfloat16")
    array([16256, 20078], dtype=uint16)
    """
    with np.errstate(over="ignore"):  # whoever gets it checks
        if type_name != "bfloat16":
            return values.astype(type_name, copy=False)
        bits = values.astype(np.float32).view(np.uint32)
    # Half of the last bit that stays, less one unless that bit is odd: a tie goes to the even one.
    rounded = (bits + (0x7FFF + (bits >> 16 & 1))) >> 16
    return np.where(np.isnan(bits.view(np.float32)), 0x7FC0, rounded).astype(np.uint16)


def moved(old: Array, update: Array, type_name: str) -> Array:
    """Return numbers plus their update, both in the layer's type; NotFiniteError if it cannot hold them.

    >>> moved(np.ones(2, np.float32), np.array([0.5, -1.0], np.float32), "float32")
    array([1.5, 0. ], dtype=float32)
    """
    wide = np.dtype(np.float64 if type_name == "float64" else np.float32)
    with np.errstate(over="ignore", invalid="ignore"):
        new = narrowed(widened(old, wide) + widened(narrowed(update, type_name), wide), type_name)
    if not all_finite(new):
        raise NotFiniteError
    return new
