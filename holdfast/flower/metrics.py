"""From replies and diagnostics to a MetricRecord, which holds numbers only.

No metric decides about a model or about the metrics of other nodes. A metric is averaged if more than half of
the nodes report it, over those that report it in the same form.
"""

import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from flwr.app import MetricRecord, MetricRecordValues, RecordDict
from numpy.typing import NDArray

from .._support.printable import printable
from ..aggregators.settings import shares
from ..core.diagnostics import Diagnostics
from ..updates.counts import capped_counts
from ..watching import Verdicts
from ..watching.verdicts import ACCUSED
from .replies import Refused, Reply

__all__ = [
    "OWN",
    "averaged_metrics",
    "capped_examples",
    "common_metrics",
    "diagnosed",
    "left_out",
    "watched_over",
]

#: How the names of what the strategy itself says begin; a client's metrics of such names are left out.
OWN = "holdfast-"
#: How much of one reply is looked at: with more names or numbers than these, it has no metrics.
MOST_NAMES, MOST_NUMBERS = 1_000, 1_000_000

log = logging.getLogger("holdfast")

Averaging = Callable[[list[RecordDict], str], MetricRecord]


def capped_examples(replies: Sequence[Reply]) -> tuple[list[Reply], tuple[str, ...]]:
    """Return the replies with examples of at most ten medians, and a note on who claims more."""
    counts, notes = capped_counts(
        np.array([reply.examples for reply in replies]), [reply.node for reply in replies]
    )
    return [replace(r, examples=float(n)) for r, n in zip(replies, counts, strict=True)], notes


def common_metrics(replies: Sequence[Reply], *, count_key: str) -> tuple[list[Reply], list[int]]:
    """Return the replies with those metrics alone that are finite and common, and whose others were left out.

    A metric is common if more than half of the replies report it as a number, or as a list of one length.
    """
    reported = [_reported(reply, count_key) for reply in replies]
    votes = Counter((key, _form(value)) for one in reported for key, value in one.items())
    common = {key: form for (key, form), n in votes.items() if 2 * n > len(replies) and form is not None}
    found, odd = [], []
    for reply, one in zip(replies, reported, strict=True):
        kept = {key: value for key, value in one.items() if key in common and _form(value) == common[key]}
        found.append(replace(reply, metrics=kept))
        unlike = (one.keys() | common.keys()) - kept.keys()
        if _is_too_much(reply.metrics):
            odd.append(reply.node)
            log.warning(
                "client %d: none of its metrics is averaged: they are more than %d, or hold more than %d"
                " numbers",
                reply.node,
                MOST_NAMES,
                MOST_NUMBERS,
            )
        elif unlike:
            odd.append(reply.node)
            log.warning(
                "client %d: averages do without %d of its metrics, '%s' first: missing, not finite, or unlike"
                " those of most nodes",
                reply.node,
                len(unlike),
                printable(min(unlike)),
            )
    return found, odd


def averaged_metrics(
    replies: Sequence[Reply], *, count_key: str, average: Averaging | None = None
) -> dict[str, MetricRecordValues]:
    """Return common metrics averaged by examples, or as the user's own function does it.

    Beside each average stands the median, which no minority moves far. The function gets the replies that
    have all of these metrics, and no other metrics.
    """
    keys = list(dict.fromkeys(key for reply in replies for key in reply.metrics))
    whole = [reply for reply in replies if len(reply.metrics) == len(keys)]
    if average is not None and whole:
        try:
            own = average([_with_common_metrics(reply, count_key) for reply in whole], count_key)
            return {key: value for key, value in own.items() if not key.startswith(OWN)}
        except Exception:  # what strangers sent must not stop a round in a function that trusted it
            log.exception("the metrics function failed; metrics are averaged by examples")
    found: dict[str, MetricRecordValues] = {}
    for key in keys:
        having = [reply for reply in replies if key in reply.metrics]
        values = np.array([reply.metrics[key] for reply in having], dtype=np.float64)
        weights = shares([reply.examples for reply in having], len(having))
        found[key] = np.tensordot(weights, values, axes=1).tolist()
        if values.ndim == 1:
            found[f"{OWN}median-{key}"] = _short(float(np.median(values)))
    return found


def diagnosed(said: Diagnostics) -> dict[str, Any]:
    """Return what a rule said of its round, as numbers under names of the strategy's own."""
    found: dict[str, Any] = {
        "aggregated": int(said.aggregated),
        "used": len(said.clients),
        "nodes": [int(node) for node in said.clients],
        "identical": sum(map(len, said.identical)),
        "tolerates": said.tolerates,
        "kept-fraction": said.kept_fraction,
        "trimmed": said.trimmed_share,
        "opposed": said.opposed_share,
        "cosine": said.cosines,
        "norm": said.norms,
        "weight": said.client_weights,
    }
    return {OWN + key: _short(value) for key, value in found.items() if value is not None}


def watched_over(verdicts: Verdicts | None) -> dict[str, MetricRecordValues]:
    """Return what a watch says of all nodes that were ever heard, and what it did in this round.

    >>> from holdfast.watching import Verdict
    >>> watched_over(Verdicts(4, (Verdict(7, "expelled", heard=4, since=4),)))["holdfast-expelled-nodes"]
    [7]
    """
    if verdicts is None:
        return {}
    found: dict[str, MetricRecordValues] = {}
    for standing in ACCUSED:
        nodes, name = [int(node) for node in verdicts.of(standing)], OWN + standing.replace(" ", "-")
        found |= {name: len(nodes), f"{name}-nodes": nodes}
    return found | {OWN + "hearing": int(verdicts.hearing), OWN + "rewound": int(verdicts.rewound)}


def left_out(refused: Sequence[Refused], odd: list[int]) -> dict[str, MetricRecordValues]:
    """Return which replies were not used, and the codes that say why; and whose metrics do not all count."""
    return {
        OWN + "dropped": len(refused),
        OWN + "dropped-nodes": [one.node for one in refused],
        OWN + "dropped-codes": [int(one.code) for one in refused],
        OWN + "odd-metrics-nodes": odd,
    }


def _short(value: Any) -> Any:
    """Return numbers with four digits, as they are worth reading; one that is not finite as the largest."""
    if isinstance(value, np.ndarray):
        return _short(value.tolist())
    if isinstance(value, list):  # not through an array: no type of integer there holds the ids of all nodes
        return [_short(one) for one in value]
    if isinstance(value, float):
        return float(f"{np.nan_to_num(value):.4g}")
    return value


def _reported(reply: Reply, count_key: str) -> dict[str, MetricRecordValues]:
    """Return the metrics of a reply that may count; none of what is too much to look at."""
    if _is_too_much(reply.metrics):
        return {}
    return {
        key: value for key, value in reply.metrics.items() if key != count_key and not key.startswith(OWN)
    }


def _is_too_much(metrics: Mapping[str, MetricRecordValues]) -> bool:
    if len(metrics) > MOST_NAMES:
        return True
    return sum(len(value) if isinstance(value, list) else 1 for value in metrics.values()) > MOST_NUMBERS


def _form(value: MetricRecordValues) -> tuple[int, ...] | None:
    """Return the shape of a metric, None if it is not finite."""
    try:
        values: NDArray[np.float64] = np.asarray(value, dtype=np.float64)
    except OverflowError:  # an integer beyond all floats
        return None
    return values.shape if np.isfinite(values).all() else None


def _with_common_metrics(reply: Reply, count_key: str) -> RecordDict:
    """Return a reply's content with the metrics that count."""
    (name,) = reply.content.metric_records
    metrics = MetricRecord({**reply.metrics, count_key: reply.examples})
    return RecordDict({**reply.content, name: metrics})
