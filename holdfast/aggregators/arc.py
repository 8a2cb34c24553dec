"""Adaptive robust clipping: the longest updates become as long as the next, then a rule decides."""

from typing import Any

import numpy as np

from .. import kernels
from .._support.counting import check_whole
from ..core import Aggregate, Rule, rule
from ..errors import TooFewClientsError
from ..updates.rows import Updates, rows_of
from .adapting import attackers_here_and_behind
from .fronts import in_front
from .geometry import clip_factors
from .trimmed_mean import trimmed_mean

__all__ = ["arc"]


@rule(adapt=attackers_here_and_behind)
def arc(updates: Updates, *, n_malicious: int, rule: Rule = trimmed_mean, **inputs: Any) -> Aggregate:
    """Return what another rule makes of the updates, the k = floor(2f (n - f) / n) longest shortened.

    Allouah et al., 2025, https://arxiv.org/abs/2405.14432. They become as long as the longest of the others,
    so that how far an attacker reaches is for honest clients to say.

    >>> from holdfast import fedavg
    >>> arc(np.array([[1.0], [2.0], [3.0], [90.0]]), n_malicious=1, rule=fedavg).update
    array([2.25])
    """
    check_whole("n_malicious", n_malicious, at_least=0)
    rows = rows_of(updates)
    n = len(rows)
    if n <= n_malicious:
        raise TooFewClientsError(
            f"arc needs n > f clients; take more per round, or assume fewer attackers (n_malicious):"
            f" got n={n}, f={n_malicious}"
        )
    norms = np.sqrt(kernels.squared_norms(rows))
    n_clipped = 2 * n_malicious * (n - n_malicious) // n
    factors = clip_factors(norms, float(np.sort(norms)[n - 1 - n_clipped]))
    notes = () if n_clipped else (f"nothing is clipped (n_malicious={n_malicious}, {n} clients)",)
    return in_front("arc", rows, np.diag(factors), rule, inputs, n_malicious=n_malicious, notes=notes)
