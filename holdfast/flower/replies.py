"""What nodes reply, sorted into what can be used and what cannot, and why. Nothing they send raises."""

from collections import Counter
from collections.abc import Collection, Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from flwr.app import ArrayRecord, Message, MetricRecord, RecordDict
from flwr.common.constant import SUPERLINK_NODE_ID
from numpy.typing import NDArray

from ..buffers import buffer_problem
from ..screening import examples_held
from ..updates.layout import Unfit
from .decoding import Code, Refusal, numbers_in, shortened
from .model import Model

__all__ = ["Refused", "Reply", "Sorted", "sorted_replies"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Reply:
    """A reply that can be used, so far as can be told before its numbers are looked at."""

    node: int
    examples: float
    metrics: MetricRecord
    content: RecordDict
    params: list[Array] = field(default_factory=list)  # in the order of the model's
    buffers: dict[str, Array] = field(default_factory=dict)


@dataclass(frozen=True)
class Refused:
    """A node whose reply is not used."""

    node: int
    code: Code
    reason: str


@dataclass(frozen=True, eq=False)
class Sorted:
    """The replies of a round: those that can be used, and the others."""

    good: list[Reply]
    refused: list[Refused]


def sorted_replies(
    replies: Iterable[Message], *, model: Model | None, asked: Collection[int] | None, count_key: str
) -> Sorted:
    """Return the replies that can be used, and why the others cannot; without a model, only metrics count."""
    good: list[Reply] = []
    refused: list[Refused] = []
    seen: set[int] = set()
    for message in replies:
        node = -1
        try:
            node = int(message.metadata.src_node_id)
            if _is_notice(message, node, asked):
                continue
            if node in seen or (asked is not None and node not in asked):
                raise Refusal(Code.UNASKED, "a second reply" if node in seen else "was not asked")
            seen.add(node)
            good.append(_read(message, node, model, count_key))
        except Refusal as reason:
            refused.append(Refused(node, reason.code, str(reason)))
        except Exception as error:  # a stranger's message may fail in any way when it is read
            refused.append(Refused(node, Code.UNREADABLE, f"cannot be read: {type(error).__name__}"))
    good.sort(key=lambda reply: reply.node)  # who answers first must not change a bit of the result
    good, unlike = _of_one_form(good)
    silent = [Refused(node, Code.SILENT, "no reply came") for node in sorted({*(asked or ())} - seen)]
    return Sorted(good, [*refused, *unlike, *silent])


def _is_notice(message: Message, node: int, asked: Collection[int] | None) -> bool:
    """Say whether the SuperLink itself tells that a node is gone, without naming it: that node is silent."""
    return node == SUPERLINK_NODE_ID and node not in (asked or ()) and bool(message.has_error())


def _read(message: Message, node: int, model: Model | None, count_key: str) -> Reply:
    if message.has_error():
        said = shortened(message.error.reason, 200)
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
    if not all(map(_is_finite, metrics[0].values())):
        raise Refusal(Code.METRICS, "has metrics that are not finite")
    reply = Reply(node, examples, metrics[0], content)
    if model is not None:
        _take_arrays(reply, arrays[0], model)
    return reply


def _is_finite(value: Any) -> bool:
    try:
        return bool(np.isfinite(np.asarray(value, dtype=np.float64)).all())
    except OverflowError:  # an integer beyond all floats
        return False


def _take_arrays(reply: Reply, sent: ArrayRecord, model: Model) -> None:
    wanted = model.record.keys()
    missing, extra = wanted - sent.keys(), sent.keys() - wanted
    if missing or extra:
        named = shortened(sorted(missing or extra)[0])
        raise Refusal(Code.NAMES, f"{len(missing)} arrays missing, {len(extra)} too many: {named}, say")
    for name in wanted:
        own = model.params.get(name)
        try:
            values = numbers_in(sent[name], like=model.buffers[name] if own is None else own)
        except Refusal as reason:
            raise Refusal(reason.code, f"{name}: {reason}") from None
        if own is None:
            reply.buffers[name] = values
        else:
            reply.params.append(values)
    problem = buffer_problem(reply.buffers, model.buffers)
    if problem is not None:
        raise Refusal(Code.VALUES, problem)


def _of_one_form(replies: list[Reply]) -> tuple[list[Reply], list[Refused]]:
    """Return the replies whose metrics have the keys that most have, and the others."""
    forms = [
        frozenset((key, len(value) if isinstance(value, list) else None) for key, value in r.metrics.items())
        for r in replies
    ]
    if not forms:
        return [], []
    common, _ = Counter(forms).most_common(1)[0]
    good = [reply for reply, form in zip(replies, forms, strict=True) if form == common]
    unlike = [
        Refused(
            reply.node,
            Code.METRICS,
            f"its metrics differ from most: {shortened(sorted(key for key, _ in form ^ common)[0])}, say",
        )
        for reply, form in zip(replies, forms, strict=True)
        if form != common
    ]
    return good, unlike
