"""From replies and diagnostics to a MetricRecord, which holds numbers only."""

import logging
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np
from flwr.app import MetricRecord, MetricRecordValues, RecordDict
from numpy.typing import NDArray

from ..diagnostics import Diagnostics
from .replies import Refused, Reply

__all__ = ["OWN", "averaged_metrics", "diagnosed", "examples_counted", "refusals"]

#: How the names of what the strategy itself says begin; a client's metrics of such names are left out.
OWN = "holdfast-"

#: A node counts in the average of metrics at most as this many nodes with the median number of examples.
MOST_MEDIANS = 10

log = logging.getLogger("holdfast")

Averaging = Callable[[list[RecordDict], str], MetricRecord]


def examples_counted(replies: Sequence[Reply]) -> NDArray[np.float64]:
    """Return each reply's examples as they count in an average of metrics: cut where far too many."""
    counts = np.array([reply.examples for reply in replies])
    most = MOST_MEDIANS * float(np.median(counts)) if len(counts) else 0.0
    if most == 0 or (counts <= most).all():
        return counts
    for reply, count in zip(replies, counts, strict=True):
        if count > most:
            log.warning("node %d claims %g examples; in metrics it counts as %g", reply.node, count, most)
    return np.asarray(np.minimum(counts, most))


def averaged_metrics(
    replies: Sequence[Reply], *, count_key: str, average: Averaging | None
) -> dict[str, MetricRecordValues]:
    """Return the metrics of screened replies, averaged by examples, or as the user's own function does it.

    Beside each average stands the median, which no minority moves far.
    """
    if not replies:
        return {}
    if average is not None:
        try:
            own = average([reply.content for reply in replies], count_key)
            return {key: value for key, value in own.items() if not key.startswith(OWN)}
        except Exception:  # what strangers sent must not stop a round in a function that trusted it
            log.exception("the metrics function failed; metrics are averaged by examples")
    counts = examples_counted(replies)
    shares = counts / counts.sum() if counts.sum() > 0 else np.full(len(counts), 1 / len(counts))
    found: dict[str, MetricRecordValues] = {}
    for key in replies[0].metrics:
        if key != count_key and not key.startswith(OWN):
            values = np.array([reply.metrics[key] for reply in replies], dtype=np.float64)
            found[key] = np.tensordot(shares, values, axes=1).tolist()
            if values.ndim == 1:
                found[f"{OWN}median-{key}"] = float(np.median(values))
    return found


def diagnosed(said: Diagnostics) -> dict[str, Any]:
    """Return what a rule said of its round, as numbers under names of the strategy's own.

    >>> diagnosed(Diagnostics(rule="median", clients=(7, 8), tolerates=0))
    {'holdfast-aggregated': 1, 'holdfast-used': 2, 'holdfast-nodes': [7, 8], 'holdfast-tolerates': 0}
    """
    found: dict[str, Any] = {
        "aggregated": int(said.aggregated),
        "used": len(said.clients),
        "nodes": [int(node) for node in said.clients],
        "tolerates": said.tolerates,
        "kept-fraction": said.kept_fraction,
        "trimmed": said.trimmed_share,
        "opposed": said.opposed_share,
        "cosine": said.cosines,
        "weight": said.client_weights,
    }
    return {
        OWN + key: value.tolist() if isinstance(value, np.ndarray) else value
        for key, value in found.items()
        if value is not None
    }


def refusals(refused: Iterable[Refused]) -> dict[str, MetricRecordValues]:
    """Return how many replies were not used, whose, and the codes that say why."""
    nodes, codes = [], []
    for one in refused:
        nodes.append(one.node)
        codes.append(int(one.code))
    return {OWN + "dropped": len(nodes), OWN + "dropped-nodes": nodes, OWN + "dropped-codes": codes}
