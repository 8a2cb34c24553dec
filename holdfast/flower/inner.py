"""What the server adds: a strategy that samples nodes and may step from the model, and its own training."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from flwr.app import Array as FlowerArray
from flwr.app import ArrayRecord, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp.strategy import FedAvg, Strategy
from numpy.typing import NDArray

from .._support.lookup import nearest
from ..errors import InputError
from ..updates.layout import all_finite
from .decoding import Refusal, numbers_in

__all__ = ["Reference", "begin_anew", "fewest_asked", "own_update", "sampler_of", "stepped_by"]

Array = NDArray[Any]
#: Given the global model, by name, returns the same after the server's own training on data it trusts.
Reference = Callable[[dict[str, Array]], Mapping[str, Any] | Sequence[Any]]


def sampler_of(inner: Strategy | None, sampling: dict[str, Any]) -> Strategy:
    """Return the strategy that samples nodes and, if it was given, takes the server's step."""
    if inner is None:
        known = inspect.signature(FedAvg).parameters
        for name in sampling:
            if name not in known:
                raise InputError(f"neither Robust nor FedAvg takes {name!r}; {nearest(name, known)}".strip())
        return FedAvg(**sampling)
    if not isinstance(inner, Strategy):
        raise InputError(f"inner must be a Flower strategy, such as FedAdam(); got {type(inner).__name__}")
    if sampling:
        raise InputError(f"{', '.join(sampling)}: with inner=, pass this to the inner strategy")
    return inner


def fewest_asked(sampler: Strategy) -> int | None:
    """Return the fewest nodes that a round asks by the sampler's settings; None where they are Flower's own.

    >>> fewest_asked(FedAvg(fraction_train=0.5, min_available_nodes=20)), fewest_asked(FedAvg())
    (10, None)
    """
    usual = inspect.signature(FedAvg).parameters
    n_available, n_least = (
        getattr(sampler, name, usual[name].default) for name in ("min_available_nodes", "min_train_nodes")
    )
    fraction = getattr(sampler, "fraction_train", 1.0)
    is_usual = (
        n_available <= usual["min_available_nodes"].default and n_least <= usual["min_train_nodes"].default
    )
    return None if is_usual or not fraction else max(int(n_available * fraction), n_least)


def stepped_by(
    inner: Strategy, defended: ArrayRecord, metrics: MetricRecord, number: int, *, params: Mapping[str, Array]
) -> ArrayRecord | None:
    """Return what the inner strategy makes of the defended model, as of one honest reply; None if not finite.

    Only `params`, by name as in the global model, are stepped. Buffers stay as they were defended: a server's
    optimiser would make variances negative.
    """
    content = RecordDict({"arrays": defended.copy(), "metrics": metrics})
    honest = Message(content, dst_node_id=1, message_type=MessageType.TRAIN)
    with np.errstate(over="ignore", invalid="ignore"):  # whether all is finite is seen below
        stepped, _ = inner.aggregate_train(number, [honest])
    if stepped is None or stepped.keys() != defended.keys():
        raise InputError(f"{type(inner).__name__} returned no model of the form it was given")
    record = defended.copy()
    for name, own in params.items():
        try:
            values = numbers_in(stepped[name], like=own)
        except Refusal as reason:
            raise InputError(f"{type(inner).__name__} returned another model: {reason}") from None
        with np.errstate(over="ignore"):  # its float64 becomes the model's float32 again
            values = values.astype(own.dtype, copy=False)
        if not all_finite(values):
            return None
        record[name] = FlowerArray(values)
    return record


def begin_anew(inner: Strategy, start: Mapping[str, Any]) -> None:
    """Give a strategy the attributes that it started with: no moments, and no model to step from.

    >>> from flwr.serverapp.strategy import FedAdam
    >>> adam = FedAdam()
    >>> start = dict(vars(adam))
    >>> adam.m_t = {"w": np.ones(2)}
    >>> begin_anew(adam, start)
    >>> adam.m_t is None
    True
    """
    vars(inner).clear()
    vars(inner).update(start)


def own_update(model: Mapping[str, Array], trained_by: Reference) -> dict[str, Array]:
    """Return the update that the server's own training makes of its model."""
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
