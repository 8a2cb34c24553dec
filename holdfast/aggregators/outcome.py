"""From a finished pass over the updates to what a rule returns."""

from typing import Any

import numpy as np

from .. import kernels
from ..core import Aggregate
from ..diagnostics import Diagnostics
from ..updates.rows import Rows

__all__ = ["outcome", "weighted_sum"]


def weighted_sum(
    rule: str, rows: Rows, client_weights: Any, *, beside: tuple[float, Any] | None = None, **said: Any
) -> Aggregate:
    """Return what a rule returns whose update is a weighted sum of the rows and of one more `beside` them."""
    seen = kernels.combine(rows, client_weights, beside=beside)
    return outcome(rule, rows, seen, client_weights=client_weights, **said)


def outcome(rule: str, rows: Rows, seen: kernels.Pass, *, state: Any = None, **said: Any) -> Aggregate:
    """Return the update in the clients' form, with what the pass measured and the rule says."""
    measured: dict[str, Any] = {}
    if seen.clients is not None:
        found = seen.clients
        lengths = np.sqrt(found.squares)
        norms, length = lengths[:-1], lengths[-1]
        with np.errstate(over="ignore", invalid="ignore"):  # of rows whose length overflows
            products = norms * length
        is_angle = (products > 0) & np.isfinite(products)
        measured = {
            "norms": norms,
            "cosines": np.divide(found.dots, products, out=np.zeros_like(norms), where=is_angle),
            "opposed_share": found.opposed / rows.dim,
            "consistency": found.consistency,
        }
        if found.trimmed is not None:
            measured["trimmed_share"] = found.trimmed / rows.dim
    diagnostics = Diagnostics(rule=rule, clients=tuple(range(len(rows))), **measured, **said)
    return Aggregate(rows.layout.restored(seen.update), state, diagnostics)
