"""From a finished pass over the updates to what a rule returns."""

from typing import Any

import numpy as np

from ..core import Aggregate
from ..diagnostics import Diagnostics
from ..kernels import Pass
from ..updates.rows import Rows

__all__ = ["outcome"]


def outcome(rule: str, rows: Rows, seen: Pass, *, state: Any = None, **said: Any) -> Aggregate:
    """Return the update in the clients' form, with the diagnostics that the pass measured and the rule says.

    >>> from holdfast import kernels
    >>> from holdfast.updates import rows_of
    >>> rows = rows_of(np.array([[1.0, 2.0], [3.0, 2.0]]))
    >>> outcome("mean", rows, kernels.trimmed_mean(rows, n_trimmed=0)).update
    array([2., 2.])
    """
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
