"""What nodes reply, sorted into what can be used and what cannot, and why. Nothing they send raises."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Message, Metadata, MetricRecordValues, RecordDict
from flwr.common.constant import SUPERLINK_NODE_ID
from numpy.typing import NDArray

from .._support.printable import printable
from ..updates.counts import examples_held
from ..updates.forms import is_named
from ..updates.layout import Unfit
from .decoding import Code, Refusal, numbers_in
from .grid import UNDECODABLE

__all__ = ["Refused", "Reply", "length_of", "sorted_replies"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Reply:
    """A reply that can be used, as far as is known before its numbers are read."""

    node: int
    examples: float
    metrics: Mapping[str, MetricRecordValues]
    content: RecordDict
    model: dict[str, Array]  # by name, as views; empty in evaluation


@dataclass(frozen=True)
class Refused:
    """A node whose reply is not used."""

    node: int
    code: Code
    reason: str


def sorted_replies(
    replies: Iterable[Message],
    *,
    model: Mapping[str, Array] | None,
    asked: Mapping[int, Metadata],
    count_key: str,
    banned: Mapping[int, str] | None = None,
) -> tuple[list[Reply], list[Refused]]:
    """Return the replies that can be used, and why the others cannot; without a model, only metrics count.

    `asked` has what each node was sent in this round, `banned` why a node has no say: its reply is not read.
    """
    good: list[Reply] = []
    refused: list[Refused] = []
    seen: set[int] = set()
    for message in replies:
        node = -1
        try:
            node = int(message.metadata.src_node_id)
            if node == SUPERLINK_NODE_ID and node not in asked and message.has_error():
                continue  # the SuperLink itself says that a node is gone: it is silent, and not named
            if why := _unasked(message, asked.get(node), node in seen):
                raise Refusal(Code.UNASKED, why)
            seen.add(node)
            if banned and node in banned:
                raise Refusal(Code.BANNED, banned[node])
            good.append(_read(message, node, model, count_key))
        except Refusal as reason:
            refused.append(Refused(node, reason.code, str(reason)))
        except Exception as error:  # a stranger's message may fail in any way when it is read
            refused.append(Refused(node, Code.UNREADABLE, f"cannot be read: {type(error).__name__}"))
    good.sort(key=lambda reply: reply.node)  # who answers first must not change a bit of the result
    told: set[int] = set()
    once = []
    for one in refused:  # however many messages a node sends, it is told of once
        if one.node < 0 or one.node not in told:
            once.append(one)
        told.add(one.node)
    silent = [Refused(node, Code.SILENT, "no reply came") for node in sorted({*asked} - seen - told)]
    return good, [*once, *silent]


def length_of(sent: Mapping[str, Array], model: Mapping[str, Array], buffers: Sequence[str]) -> float:
    """Return how far a reply's parameters are from the model's; infinity if that cannot be said.

    >>> length_of({"w": np.array([3.0, 4.0])}, {"w": np.zeros(2)}, ())
    5.0
    """
    square = 0.0
    with np.errstate(all="ignore"):
        for name, own in model.items():
            if own.dtype.kind == "f" and not is_named(name, buffers):
                step = (sent[name].astype(np.float32, copy=False) - own).reshape(-1)
                square += float(np.vdot(step, step))
    return math.sqrt(square) if math.isfinite(square) else math.inf


def _unasked(message: Message, asked: Metadata | None, is_second: bool) -> str:
    """Return why a message is not the reply that a node was asked for; "" if it is."""
    if asked is None:
        return "was not asked"
    if asked.message_id and message.metadata.reply_to_message_id != asked.message_id:
        return "a reply to another message"  # of an earlier round, say
    return "a second reply" if is_second else ""


def _read(message: Message, node: int, model: Mapping[str, Array] | None, count_key: str) -> Reply:
    if message.has_error() and message.error.code == UNDECODABLE:
        raise Refusal(Code.UNREADABLE, printable(message.error.reason, limit=200))
    if message.has_error():
        said = printable(message.error.reason, limit=200)
        raise Refusal(Code.ERROR, f"reported error {message.error.code}: {said}")
    if not message.has_content():
        raise Refusal(Code.UNREADABLE, "has no content")
    content = message.content
    arrays, metrics = list(content.array_records.values()), list(content.metric_records.values())
    if len(metrics) != 1 or (model is not None and len(arrays) != 1):
        wanted = "1 MetricRecord" if model is None else "1 ArrayRecord and 1 MetricRecord"
        raise Refusal(
            Code.RECORDS, f"has {len(arrays)} ArrayRecords and {len(metrics)} MetricRecords, not {wanted}"
        )
    if count_key not in metrics[0]:
        raise Refusal(Code.EXAMPLES, f"has no {count_key!r} among its metrics")
    try:
        examples = examples_held(metrics[0][count_key])
    except Unfit as reason:
        raise Refusal(Code.EXAMPLES, str(reason)) from None
    return Reply(node, examples, metrics[0], content, {} if model is None else _arrays(arrays[0], model))


def _arrays(sent: ArrayRecord, model: Mapping[str, Array]) -> dict[str, Array]:
    missing = model.keys() - sent.keys()
    n_extra = len(sent) - len(model) + len(missing)
    if missing or n_extra:
        named = min(missing) if missing else next(name for name in sent if name not in model)
        raise Refusal(
            Code.NAMES, f"{len(missing)} arrays missing, {n_extra} too many: '{printable(named)}', say"
        )
    found = {}
    for name, own in model.items():
        try:
            found[name] = numbers_in(sent[name], like=own)
        except Refusal as reason:
            raise Refusal(reason.code, f"{name}: {reason}") from None
    return found
