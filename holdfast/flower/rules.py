"""Flower's own strategies, called as rules are: for the simulator, and to be compared with ours."""

import logging
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
from flwr.app import Array as FlowerArray
from flwr.app import ArrayRecord, Message, MessageType, Metadata, MetricRecord, RecordDict
from flwr.serverapp.strategy import Strategy
from numpy.typing import ArrayLike, NDArray

from ..core import Aggregate
from ..errors import InputError, TooFewClientsError
from ..updates.rows import Updates, rows_of

__all__ = ["aggregated_by"]


def aggregated_by(
    strategy: Strategy, updates: Updates, *, params: Any = None, weights: ArrayLike | None = None
) -> Aggregate:
    """Return the update that a Flower strategy makes of the clients' models, `params` plus their updates.

    Flower holds all of them in memory, and so does this. Without `params`, models are the updates themselves.

    >>> from flwr.serverapp.strategy import FedMedian
    >>> aggregated_by(FedMedian(), np.array([[1.0, 4.0], [2.0, 3.0], [9.0, -2.0]])).update
    array([2., 3.])
    """
    rows = rows_of(updates)
    sent = np.asarray(rows)
    base = np.zeros_like(sent[0]) if params is None else np.asarray(rows_of([params]))[0]
    counts = np.ones(len(sent)) if weights is None else np.asarray(weights, dtype=np.float64)
    replies = [
        _reply(node, base + update, count)
        for node, (update, count) in enumerate(zip(sent, counts.tolist(), strict=True), start=1)
    ]
    with _silenced(logging.getLogger("flwr")):  # it reports every round
        record, _ = strategy.aggregate_train(1, replies)
    name = type(strategy).__name__
    if record is None:
        raise TooFewClientsError(f"Flower's {name} returned no model for {len(sent)} clients: take more")
    (model,) = (array.numpy() for array in record.values())
    if model.shape != base.shape:
        raise InputError(f"Flower's {name} returned {model.shape} numbers for a model of {base.shape}")
    return Aggregate(rows.layout.restored((model - base).astype(sent.dtype)))


def _reply(node: int, model: NDArray[Any], count: float) -> Message:
    """Return a node's reply: its model, and how many examples it trained on."""
    arrays = ArrayRecord({"model": FlowerArray(model)})
    content = RecordDict({"arrays": arrays, "metrics": MetricRecord({"num-examples": count})})
    asked = Metadata(
        run_id=1,
        message_id="",
        src_node_id=node,
        dst_node_id=0,
        reply_to_message_id="",
        group_id="",
        created_at=0.0,
        ttl=1.0,
        message_type=MessageType.TRAIN,
    )
    return Message(content=content, metadata=asked)  # type: ignore[call-overload, no-any-return]


@contextmanager
def _silenced(logger: logging.Logger) -> Iterator[None]:
    """Let only warnings through."""
    level = logger.level
    logger.setLevel(logging.WARNING)
    try:
        yield
    finally:
        logger.setLevel(level)
