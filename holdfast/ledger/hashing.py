"""The hash of a model, by which a ledger knows it without keeping it."""

import hashlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from ..updates.forms import Tree
from ..updates.layout import Layer, Unfit
from .entries import canonical

__all__ = ["model_hash"]

Array = NDArray[Any]

#: How NumPy writes a type of two bytes that it does not know: bfloat16, in every library.
BFLOAT16 = "<V2"


def model_hash(model: Any) -> str:
    """Return the SHA-256 of a model's arrays with their names, types and shapes.

    A model is whatever `defend` takes: a state dict, layers, one array, any nesting of these.

    >>> model_hash({"w": np.zeros(2)}) == model_hash({"w": np.zeros((1, 2))})
    False
    >>> model_hash({"head": {"w": np.zeros(2)}}) == model_hash({"head.w": np.zeros(2)})
    True
    """
    digest = hashlib.sha256()
    for name, given in _parts(model):
        try:
            layer, values = Layer.read(given, floats_only=False)
        except Unfit as reason:
            raise InputError(f"the model cannot be hashed, {name!r}: {reason}") from None
        kind = BFLOAT16 if layer.type_name == "bfloat16" else values.dtype.str
        digest.update(canonical([name, kind, layer.shape]).encode())
        digest.update(np.ascontiguousarray(values).reshape(-1).view(np.uint8).data)
    return digest.hexdigest()


def _parts(model: Any) -> Iterator[tuple[str, Any]]:
    """Yield the arrays of a model, each with its name."""
    layers = model if isinstance(model, list | tuple) else [model]
    named = model.items() if isinstance(model, Mapping) else enumerate(layers)
    for name, part in ((str(name), part) for name, part in named):
        tree = Tree.of(part)
        if tree.kind is None:
            yield name, part
        elif (stacked := _stacked(part)) is not None:
            yield name, stacked
        else:
            yield from zip((f"{name}.{path}" for path in tree.paths), tree.leaves(part), strict=True)


def _stacked(part: Any) -> Array | None:
    """Return a list of arrays of one shape as one array: so it is hashed in the ledgers that there are."""
    if not isinstance(part, list | tuple):
        return None
    try:
        values = np.asarray(part)
    except (TypeError, ValueError, RuntimeError):  # of several shapes, or of what NumPy does not read
        return None
    return None if values.dtype == object else values
