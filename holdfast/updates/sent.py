"""What clients sent, one item per client, read as rows of one layout."""

from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..errors import InputError
from .layout import PLAIN, Layer, Layout, Unfit

__all__ = ["read_rows", "sent_by_clients"]

Array = NDArray[Any]


def sent_by_clients(updates: Any) -> list[Any]:
    """Return what each client sent, one item per client, however the round is given."""
    if isinstance(updates, list | tuple):
        return list(updates)
    if not hasattr(updates, "__array__") or not hasattr(updates, "shape"):
        raise InputError(
            f"updates must be an array or a list with one item per client; got {type(updates).__name__}"
        )
    if len(updates.shape) < 2:
        raise InputError(
            f"updates must have one row per client: (n_clients, dim); got shape {tuple(updates.shape)}"
        )
    try:
        # A matrix's rows would be matrices. A masked array's rows must keep their masks.
        is_plain = isinstance(updates, np.ndarray) and not np.ma.isMaskedArray(updates)
        return list(np.asarray(updates) if is_plain else updates)
    except (TypeError, RuntimeError) as error:  # a tensor that is sparse or quantised
        raise InputError(f"updates cannot be read as rows: {error}") from None


def read_rows(sent: list[Any]) -> tuple[Layout, tuple[tuple[Array, ...], ...]]:
    """Return the first row's layout and all rows; where types differ, the layout's type holds them all."""
    if not sent:
        return Layout((), is_single=True), ()
    if _are_alike(sent):
        return _layout_of_arrays(sent[0].shape, sent[0].dtype), tuple((array,) for array in sent)
    layout = Layout.of(sent[0], name="row 0")
    rows = []
    for row, given in enumerate(sent):
        try:
            rows.append(layout.accept(given))
        except Unfit as reason:
            raise InputError(f"row {row}: {reason}") from None
    layers = list(layout.layers)
    for i, layer in enumerate(layers):
        types = {dtype.newbyteorder("=") for dtype in {arrays[i].dtype for arrays in rows}}
        if len(types) > 1:
            is_double = np.dtype(np.float64) in types
            layers[i] = Layer(layer.shape, np.dtype(np.float64 if is_double else np.float32))
    return replace(layout, layers=tuple(layers)), tuple(rows)


def _are_alike(sent: list[Any]) -> bool:
    """Return whether all are plain arrays of one shape and type: the usual case, and nothing to be read."""
    first = sent[0]
    return (
        type(first) is np.ndarray
        and first.dtype in PLAIN
        and all(type(x) is np.ndarray and x.dtype == first.dtype and x.shape == first.shape for x in sent)
    )


@lru_cache(maxsize=64)
def _layout_of_arrays(shape: tuple[int, ...], dtype: np.dtype[Any]) -> Layout:
    """Return the form of plain arrays, which is the same in every round, and so is what it has worked out."""
    return Layout.of(np.broadcast_to(np.zeros((), dtype), shape), name="row 0")
