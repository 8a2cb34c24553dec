"""From a finished pass over the updates to what a rule returns."""

from typing import Any

import numpy as np

from .. import kernels
from ..core import Aggregate
from ..diagnostics import Diagnostics
from ..updates.rows import Rows

__all__ = ["measures", "outcome", "weighted_sum"]


def weighted_sum(
    rule: str, rows: Rows, client_weights: Any, *, beside: tuple[float, Any] | None = None, **said: Any
) -> Aggregate:
    """Return what a rule returns whose update is a weighted sum of the rows and of one more `beside` them."""
    seen = kernels.combine(rows, client_weights, beside=beside)
    return outcome(rule, rows, seen, client_weights=client_weights, **said)


def outcome(rule: str, rows: Rows, seen: kernels.Pass, *, state: Any = None, **said: Any) -> Aggregate:
    """Return the update in the clients' form, with what the pass measured and the rule says."""
    diagnostics = Diagnostics(rule=rule, clients=tuple(range(len(rows))), **measures(rows, seen), **said)
    return Aggregate(rows.layout.restored(seen.update), state, diagnostics)


def measures(rows: Rows, seen: kernels.Pass) -> dict[str, Any]:
    """Return what a pass measured of each client for Diagnostics; nothing if it was not asked to.

    >>> from holdfast.updates import rows_of
    >>> rows = rows_of(np.array([[3.0, 4.0], [0.0, 2.0]]), explain=True)
    >>> measures(rows, kernels.combine(rows, np.array([0.0, 1.0])))["cosines"]
    array([0.8, 1. ])
    """
    if seen.clients is None:
        return {}
    found = seen.clients
    lengths = np.sqrt(found.squares)
    norms, length = lengths[:-1], lengths[-1]
    with np.errstate(over="ignore", invalid="ignore"):  # of rows whose length overflows
        products = norms * length
    is_angle = (products > 0) & np.isfinite(products)
    trimmed = {} if found.trimmed is None else {"trimmed_share": found.trimmed / rows.dim}
    return {
        "norms": norms,
        "cosines": np.divide(found.dots, products, out=np.zeros_like(norms), where=is_angle),
        "opposed_share": found.opposed / rows.dim,
        "consistency": found.consistency,
        **trimmed,
    }
