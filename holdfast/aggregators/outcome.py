"""From a finished pass over the updates to what a rule returns."""

from dataclasses import replace
from typing import Any

import numpy as np

from .. import kernels
from ..core import Aggregate
from ..core.diagnostics import Diagnostics
from ..errors import InputError
from ..updates.layout import Layout, Unfit, is_numbers, widened
from ..updates.rows import Rows

__all__ = ["in_form", "measured_against", "measures", "outcome", "weighted_sum"]


def weighted_sum(
    rule: str,
    rows: Rows,
    client_weights: Any,
    *,
    beside: tuple[float, Any] | None = None,
    skips: bool = False,
    **said: Any,
) -> Aggregate:
    """Return what a rule returns whose update is a weighted sum of the rows and of one more `beside` them.

    A rule that has measured all rows `skips` those without weight.
    """
    seen = kernels.combine(rows, client_weights, beside=beside, skips=skips)
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


def measured_against(rows: Rows, update: Any) -> dict[str, Any]:
    """Return every client measured against an update, as fields; nothing if the rows do not ask for it.

    Nor of an update that is not finite, which will not be applied.
    """
    if not rows.explain:
        return {}
    try:
        flat = rows.layout.flat(update, name="update")
    except InputError:
        return {}
    return measures(rows, kernels.combine(rows, np.zeros(len(rows)), beside=(1.0, flat)))


def in_form(rule: str, layout: Layout, result: Any) -> Aggregate:
    """Return what a rule gave, its update in the form of one; a user's rule may give it flat, or as lists."""
    if not isinstance(result, Aggregate):
        raise InputError(f"{rule} returned {type(result).__name__}; a rule returns Aggregate(update)")
    update = result.update
    try:
        arrays = layout.accept(update)
        if all(hasattr(part, "__array__") for part in ([update] if layout.is_single else update)):
            return result
        flat = np.concatenate([widened(array.reshape(-1), layout.compute_dtype) for array in arrays])
    except Unfit as reason:
        numbers = np.array(update, np.float64) if is_numbers(update) else update
        flat = np.asarray(numbers) if hasattr(numbers, "__array__") else np.empty(0)
        if flat.shape != (layout.dim,) or flat.dtype.kind != "f":
            raise InputError(
                f"{rule} returned an update that does not fit: {reason}; a rule returns"
                " Aggregate(update) in the form of one client's update, or flat"
            ) from None
    return replace(result, update=layout.restored(np.ascontiguousarray(flat, dtype=layout.compute_dtype)))
