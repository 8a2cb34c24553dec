"""The global model of a round: taken from Flower's arrays, moved by an update, put into arrays again."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flwr.app import ArrayRecord
from numpy.typing import NDArray

from ..buffers import is_named
from ..errors import InputError
from .decoding import Refusal, encoded, numbers_in

__all__ = ["Model", "Reference", "moved", "own_update"]

Array = NDArray[Any]
#: Given the global model, by name, returns the same after the server's own training on data it trusts.
Reference = Callable[[dict[str, Array]], Mapping[str, Any] | Sequence[Any]]


@dataclass(frozen=True, eq=False)
class Model:
    """The global model of a round: views of the arrays that were sent out, parameters and buffers apart.

    >>> model = Model.of(ArrayRecord([np.ones(2), np.array(3)]), buffers=())
    >>> [*model.params], [*model.buffers]
    (['0'], ['1'])
    """

    record: ArrayRecord
    params: dict[str, Array]
    buffers: dict[str, Array]

    @classmethod
    def of(cls, record: ArrayRecord, *, buffers: Sequence[str]) -> "Model":
        """Return the model in a record; arrays that are no floats are buffers, whatever they are called."""
        params: dict[str, Array] = {}
        others: dict[str, Array] = {}
        for name, array in record.items():
            try:
                values = numbers_in(array)
            except Refusal as reason:
                raise InputError(f"the global model's array {name!r} cannot be read: {reason}") from None
            if not np.isfinite(values).all():
                raise InputError(f"the global model's array {name!r} holds NaN or infinite values")
            is_buffer = values.dtype.kind != "f" or is_named(name, buffers)
            (others if is_buffer else params)[name] = values
        if not any(values.size for values in params.values()):
            raise InputError("the global model has no float parameters: there is nothing to aggregate")
        return cls(record, params, others)


def moved(model: Model, update: Sequence[Any], buffers: Mapping[str, Any]) -> ArrayRecord | None:
    """Return the model moved by the update, with new buffers; None if it would not be finite."""
    record = ArrayRecord()
    steps = dict(zip(model.params, update, strict=True))
    for name in model.record:
        if name in buffers:
            record[name] = encoded(buffers[name])
            continue
        own = model.params[name]
        values = np.empty_like(own)
        with np.errstate(over="ignore"):
            np.add(own, steps[name], out=values, casting="same_kind")
        if not np.isfinite(values).all():
            return None
        record[name] = encoded(values)
    return record


def own_update(model: Model, trained_by: Reference) -> list[Array]:
    """Return the update that the server's own training makes of the parameters."""
    given = {name: np.array(model.params.get(name, model.buffers.get(name))) for name in model.record}
    trained = trained_by(given)
    if not isinstance(trained, Mapping):
        trained = dict(zip(model.record, trained, strict=False))
    update = []
    for name, own in model.params.items():
        values = np.asarray(trained.get(name), dtype=own.dtype)
        if values.shape != own.shape:
            raise InputError(
                f"reference must return the whole model after training; {name!r} has the shape {own.shape},"
                f" and {values.shape if name in trained else 'nothing'} came back"
            )
        update.append(values - own)
    return update
