"""Multi-Krum by angle: the mean of the updates whose directions sit deepest in the crowd."""

import numpy as np

from .. import kernels
from ..core import Aggregate, rule
from ..updates.rows import Updates, rows_of
from .geometry import cosines
from .krum import check_crowd
from .multi_krum import select_crowd
from .outcome import outcome

__all__ = ["multi_krum_cosine"]


@rule
def multi_krum_cosine(updates: Updates, *, n_malicious: int, n_selected: int | None = None) -> Aggregate:
    """Return the mean of the n_selected (by default n - f) updates with the best scores by 1 - cosine.

    Multi-Krum with the distance that FLAME judges by (Nguyen et al., 2022, https://arxiv.org/abs/2101.02281),
    without FLAME's clustering, clipping and noise. An update of zeros is at distance 1 from everything.

    >>> crowd = np.array([[1.0, 0.1], [1.0, 0.0], [9.0, 0.5], [1.0, 0.2], [-1.0, 0.0]])
    >>> multi_krum_cosine(crowd, n_malicious=1).update
    array([3. , 0.2])
    """
    rows = rows_of(updates)
    check_crowd("multi_krum_cosine", len(rows), n_malicious)
    selected = select_crowd(rows, 1 - cosines(kernels.gram(rows)), n_malicious, n_selected)
    client_weights = np.zeros(len(rows))
    client_weights[selected] = 1 / len(selected)
    return outcome(
        "multi_krum_cosine",
        rows,
        kernels.combine(rows, client_weights),
        client_weights=client_weights,
        selected=client_weights > 0,
    )
