"""What rules in front of another share: they hand it sums of the clients' rows, and speak of the clients."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import Aggregate, Rule
from ..core.diagnostics import Diagnostics
from ..updates.rows import Rows
from .outcome import in_form, measured_against

__all__ = ["in_front"]

#: A promise on mixed rows says less of the clients' own.
PROMISE = "the update stays within a bounded distance of the honest clients' mean"


def in_front(
    name: str,
    rows: Rows,
    weights: NDArray[np.float64],
    rule: Rule,
    inputs: Mapping[str, Any],
    *,
    n_malicious: int | None = None,
    notes: tuple[str, ...] = (),
) -> Aggregate:
    """Return what another rule makes of sums of the rows; who is measured are the clients themselves.

    `weights` has one row per sum and one column per client. The guarantee is that of the other rule, which
    must allow for n_malicious of the sums.

    >>> from holdfast import median
    >>> from holdfast.updates import rows_of
    >>> pairs = np.array([[0.5, 0.5, 0, 0], [0, 0, 0.5, 0.5]])
    >>> in_front("pairs", rows_of(np.array([[1.0], [2.0], [3.0], [9.0]])), pairs, median, {}).update
    array([3.75])
    """
    flat = replace(rows.layout, flat_dtype=rows.dtype)  # clients are measured before the update is rounded
    made = in_form(
        rule.name, flat, rule.run(replace(rows, layout=flat, explain=False).mixed(weights), **inputs)
    )
    behind = made.diagnostics or Diagnostics(rule=rule.name, clients=tuple(range(len(weights))))
    guarantee, short = _guarantee(behind, n_malicious, len(rows))
    said = Diagnostics(
        rule=name,
        clients=tuple(range(len(rows))),
        notes=(*notes, *short, *(f"{behind.rule}: {note}" for note in behind.notes)),
        **guarantee,
        kept_fraction=behind.kept_fraction,
        client_weights=None if behind.client_weights is None else behind.client_weights @ weights,
        selected=None if behind.selected is None else np.asarray(weights[behind.selected].any(axis=0)),
        **measured_against(rows, made.update),
    )
    is_flat = isinstance(made.update, np.ndarray) and made.update.dtype == rows.dtype
    restored = rows.layout.restored(made.update) if is_flat else made.update
    return replace(made, update=restored, diagnostics=said)


def _guarantee(
    behind: Diagnostics, n_malicious: int | None, n_clients: int
) -> tuple[dict[str, Any], tuple[str, ...]]:
    """Return what the theorem of the rule behind says of the round, as fields, and why it says nothing."""
    tolerated = behind.tolerates
    if behind.covered is None or n_malicious is None:
        return {"covered": behind.covered, "tolerates": tolerated, "promise": PROMISE}, ()
    short: tuple[str, ...] = ()
    if n_clients <= 2 * n_malicious:
        short = (f"the guarantee needs n > 2f = {2 * n_malicious} clients; this round has {n_clients}",)
    elif behind.covered and tolerated is not None and tolerated < n_malicious:
        short = (f"{behind.rule} tolerates {tolerated} malicious rows, fewer than n_malicious={n_malicious}",)
    covered = behind.covered and not short
    return {"covered": covered, "tolerates": n_malicious if covered else None, "promise": PROMISE}, short
