"""What a rule does not say of the clients, measured as our own rules measure it."""

from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from ..aggregators.outcome import measured_against, measures
from ..core import Aggregate
from ..core.diagnostics import Diagnostics
from ..updates.rows import Rows

__all__ = ["measured", "trimmed_at_each_end"]

Array = NDArray[Any]

#: Coordinates, evenly spaced, that tell whether an update is a trimmed mean.
N_LOOKED_AT = 1024


def measured(name: str, rows: Rows, result: Aggregate) -> Diagnostics:
    """Return what a rule says, and if the rows ask for it, every client measured against the update.

    What the rule measured itself stands. Rows that are not finite raise NonFiniteError, as in any pass.

    >>> from holdfast.updates import rows_of
    >>> rows = rows_of(np.array([[3.0, 4.0], [0.0, 2.0]]), explain=True)
    >>> measured("mine", rows, Aggregate(np.array([0.0, 1.0]))).cosines
    array([0.8, 1. ])
    """
    said = result.diagnostics or Diagnostics(rule=name, clients=tuple(range(len(rows))))
    told = (said.norms, said.cosines, said.opposed_share, said.consistency)
    if not rows.explain or all(part is not None for part in told):
        return said
    found = measured_against(rows, result.update)
    if not found:
        return said
    update = rows.layout.flat(result.update, name="update")
    found["kept_fraction"] = np.count_nonzero(update) / rows.dim
    n_trimmed = trimmed_at_each_end(rows, update)
    if n_trimmed:
        found["trimmed_share"] = measures(rows, kernels.trimmed_mean(rows, n_trimmed=n_trimmed))[
            "trimmed_share"
        ]
    return replace(said, **{field: value for field, value in found.items() if getattr(said, field) is None})


def trimmed_at_each_end(rows: Rows, update: Array) -> int:
    """Return how many values were trimmed at each end of a coordinate; 0 if the update is no trimmed mean.

    Coordinates that do not move say nothing: they may be masked.

    >>> from holdfast.updates import rows_of
    >>> rows = rows_of(np.array([[1.0, -9.0], [2.0, 5.0], [3.0, 6.0], [4.0, 7.0], [90.0, 8.0]]))
    >>> trimmed_at_each_end(rows, np.array([3.0, 6.0])), trimmed_at_each_end(rows, np.array([20.0, 3.4]))
    (1, 0)
    """
    where = np.arange(0, rows.dim, -(-rows.dim // N_LOOKED_AT))
    where = where[update[where] != 0]
    n, most = len(rows), (len(rows) - 1) // 2
    if not len(where) or not most:
        return 0
    values = np.sort(rows.at(where).astype(np.float64), axis=0)
    low, high = values[:most], values[n - most :][::-1]  # [k]: the ends of what is left without k
    with np.errstate(over="ignore", invalid="ignore"):
        middle = values[most : n - most].sum(axis=0)
        sums = np.cumsum([middle, *(low + high)[::-1]], axis=0)[
            ::-1
        ]  # [k]; from the middle, away from giants
        means = sums / (n - 2 * np.arange(most + 1))[:, None]
        reach = np.abs([*np.maximum(-low, high), np.abs(values[most : n - most]).max(axis=0)])
        near = np.abs(means - update[where]) <= 64 * np.finfo(rows.dtype).eps * reach
    return int(np.argmax(near.all(axis=1)))  # the fewest; 0 if none fits
