"""The strategy inside: it samples nodes and, if the user gave one, steps from the defended model."""

import inspect
from collections.abc import Mapping
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Message, MessageType, MetricRecord, RecordDict
from flwr.serverapp.strategy import FedAvg, Strategy
from numpy.typing import NDArray

from .._support.lookup import nearest
from ..errors import InputError
from ..updates.layout import all_finite
from .decoding import Refusal, encoded, numbers_in

__all__ = ["sampler_of", "stepped_by"]


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


def stepped_by(
    inner: Strategy,
    defended: ArrayRecord,
    metrics: MetricRecord,
    number: int,
    *,
    params: Mapping[str, NDArray[Any]],
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
        record[name] = encoded(values)
    return record
