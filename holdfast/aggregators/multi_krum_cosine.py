"""Multi-Krum by angle: the mean of the updates whose directions sit deepest in the crowd."""

from ..core import Aggregate, rule
from ..updates.rows import Updates, rows_of
from .adapting import krum_attackers
from .geometry import cosines
from .krum import crowd_scores
from .multi_krum import selection
from .outcome import weighted_sum

__all__ = ["multi_krum_cosine"]


@rule(adapt=krum_attackers)
def multi_krum_cosine(updates: Updates, *, n_malicious: int, n_selected: int | None = None) -> Aggregate:
    """Return the mean of the n_selected (by default n - f) updates with the best scores by 1 - cosine.

    Multi-Krum with the distance that FLAME judges by (Nguyen et al., 2022, https://arxiv.org/abs/2101.02281),
    without FLAME's clustering, clipping and noise. An update of zeros is at distance 1 from everything.

    >>> import numpy as np
    >>> crowd = np.array([[1.0, 0.1], [1.0, 0.0], [9.0, 0.5], [1.0, 0.2], [-1.0, 0.0]])
    >>> multi_krum_cosine(crowd, n_malicious=1).update
    array([3. , 0.2])
    """
    rows = rows_of(updates)
    scores = crowd_scores("multi_krum_cosine", rows, n_malicious, lambda gram, part: 1 - cosines(gram, part))
    selected = selection(scores, n_malicious, n_selected)
    return weighted_sum("multi_krum_cosine", rows, selected / selected.sum(), skips=True, selected=selected)
