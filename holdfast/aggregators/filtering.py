"""What rules share that keep some clients and average them."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..core import Aggregate
from ..updates.rows import Rows
from .outcome import weighted_sum

__all__ = ["global_model", "kept_note", "mean_of_kept", "models_gram"]


def mean_of_kept(
    rule: str, rows: Rows, is_kept: NDArray[np.bool_], *, notes: tuple[str, ...] = (), **said: Any
) -> Aggregate:
    """Return the mean of the rows that a filter keeps; zero, and never the mean of all, if it keeps none."""
    client_weights = is_kept / max(1, is_kept.sum())
    notes = (kept_note(is_kept), *notes)
    return weighted_sum(rule, rows, client_weights, selected=is_kept, notes=notes, **said)


def global_model(rows: Rows, params: Any) -> tuple[NDArray[Any], tuple[str, ...]]:
    """Return the global model, flat, and a note if it is not known and counts as zero.

    >>> from holdfast.updates import rows_of
    >>> global_model(rows_of(np.ones((3, 2))), None)
    (array([0., 0.]), ('the global model (params) is not known, and counts as zero',))
    """
    if params is None:
        unknown = "the global model (params) is not known, and counts as zero"
        return np.zeros(rows.dim, rows.dtype), (unknown,)
    return rows.layout.flat(params, name="params"), ()


def models_gram(products: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the dot products of the clients' models, from those of updates and, last, of the global model.

    >>> models_gram(np.array([[4.0, 2.0], [2.0, 1.0]]))  # an update of 2 to a model of 1
    array([[9.]])
    """
    along = products[:-1, -1]
    return np.asarray(products[:-1, :-1] + along[:, None] + along[None, :] + products[-1, -1])


def kept_note(is_kept: NDArray[np.bool_]) -> str:
    """Return how many a filter keeps, in words.

    >>> kept_note(np.array([True, False, True]))
    'keeps 2 of 3 clients'
    """
    n_kept = int(is_kept.sum())
    return f"keeps {n_kept} of {len(is_kept)} clients" + ("" if n_kept else ": the update is zero")
