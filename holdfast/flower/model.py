"""The global model between Flower's records and arrays by name, and the server's own training of it."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from flwr.app import ArrayRecord
from numpy.typing import NDArray

from ..errors import InputError
from .decoding import Refusal, encoded, numbers_in

__all__ = ["Reference", "model_arrays", "model_record", "own_update"]

Array = NDArray[Any]
#: Given the global model, by name, returns the same after the server's own training on data it trusts.
Reference = Callable[[dict[str, Array]], Mapping[str, Any] | Sequence[Any]]


def model_arrays(record: ArrayRecord) -> dict[str, Array]:
    """Return the arrays of the server's own model by name, as views.

    >>> model_arrays(ArrayRecord([np.ones(2), np.array(3)]))
    {'0': array([1., 1.]), '1': array(3)}
    """
    found = {}
    for name, array in record.items():
        try:
            found[name] = numbers_in(array)
        except Refusal as reason:
            raise InputError(f"the global model's array {name!r} cannot be read: {reason}") from None
    return found


def model_record(arrays: dict[str, Array]) -> ArrayRecord:
    """Return the arrays as Flower sends them, in the same order; the dict is emptied on the way, for room.

    >>> model_record({"w": np.ones(2)})["w"].shape
    (2,)
    """
    record = ArrayRecord()
    for name in list(arrays):
        record[name] = encoded(arrays.pop(name))
    return record


def own_update(model: Mapping[str, Array], trained_by: Reference) -> dict[str, Array]:
    """Return the update that the server's own training makes of its model.

    >>> own_update({"w": np.ones(2)}, lambda arrays: {"w": 3 * arrays["w"]})
    {'w': array([2., 2.])}
    """
    trained = trained_by({name: np.array(own) for name, own in model.items()})
    if not isinstance(trained, Mapping):
        trained = dict(zip(model, trained, strict=False))
    update = {}
    for name, own in model.items():
        values = np.asarray(trained[name], own.dtype) if name in trained else None
        if values is None or values.shape != own.shape:
            raise InputError(
                f"reference must return the whole model after training; {name!r} has the shape {own.shape},"
                f" and {'nothing' if values is None else values.shape} came back"
            )
        update[name] = values - own if own.dtype.kind == "f" else own  # a buffer, which no rule looks at
    return update
