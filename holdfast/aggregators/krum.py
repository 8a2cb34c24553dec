"""Krum: trust the update that sits deepest in the crowd."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from .._support.counting import check_whole
from .._support.threads import for_each
from ..core import Aggregate, rule
from ..errors import TooFewClientsError
from ..updates.rows import Rows, Updates, rows_of
from .adapting import krum_attackers
from .geometry import gram_around, is_hidden, squared_distances
from .outcome import weighted_sum

__all__ = ["krum"]

Array = NDArray[np.float64]
Distances = Callable[[Array, slice], Array]

#: What the theorem promises, as `Diagnostics.promise`.
HONEST_WAY = "the update points, on average, the way of the honest ones if these scatter little"

#: Rows that are scored at a time: their distances from all others are held in memory.
N_SCORED = 128


@rule(adapt=krum_attackers)
def krum(updates: Updates, *, n_malicious: int) -> Aggregate:
    """Return the one update closest to its n - f - 2 nearest neighbours.

    Blanchard et al., 2017, https://arxiv.org/abs/1703.02757. f is `n_malicious`, the number of attackers
    to withstand in a round.

    >>> crowd = np.array([[1.0], [1.1], [0.9], [1.0], [99.0]])
    >>> krum(crowd, n_malicious=1).update
    array([1.])
    """
    rows = rows_of(updates)
    best = crowd_scores("krum", rows, n_malicious).argmin()
    client_weights = (np.arange(len(rows)) == best).astype(np.float64)
    guarantee = krum_guarantee(len(rows), n_malicious)
    return weighted_sum("krum", rows, client_weights, skips=True, selected=client_weights > 0, **guarantee)


def crowd_scores(rule: str, rows: Rows, n_malicious: int, distances: Distances = squared_distances) -> Array:
    """Return each row's summed distance to its n - f - 2 nearest neighbours; there must be at least one."""
    check_whole("n_malicious", n_malicious, at_least=0)
    n, n_nearest = len(rows), len(rows) - n_malicious - 2
    if n_nearest < 1:
        raise TooFewClientsError(
            f"{rule} needs n >= f + 3 clients; take more per round, assume fewer attackers (n_malicious),"
            f" or use the median, which needs no f: got n={n}, f={n_malicious}"
        )
    gram = kernels.gram(rows)
    scores = _scored(gram, n_nearest, distances)
    best = int(scores.argmin())
    if distances is squared_distances and is_hidden(gram, best, scores[best] / n_nearest):
        return _scored(gram_around(rows, best), n_nearest, distances)
    return scores


def _scored(gram: Array, n_nearest: int, distances: Distances) -> Array:
    """Return each row's summed distance to its nearest neighbours, a part of the rows at a time."""
    n = len(gram)
    scores = np.empty(n)

    def score(part: slice) -> None:
        is_other = np.arange(n) != np.arange(n)[part, None]
        others = distances(gram, part)[is_other].reshape(-1, n - 1)
        others.sort(axis=1)
        scores[part] = others[:, :n_nearest].sum(axis=1)

    for_each(score, [slice(start, min(start + N_SCORED, n)) for start in range(0, n, N_SCORED)])
    return scores


def krum_guarantee(n_clients: int, n_malicious: int) -> dict[str, Any]:
    """Return what Krum's theorem, which needs n > 2f + 2, says of this round."""
    covered = n_clients > 2 * n_malicious + 2
    short = f"the guarantee needs n > 2f + 2 = {2 * n_malicious + 2} clients; this round has {n_clients}"
    return {
        "covered": covered,
        "tolerates": n_malicious if covered else None,
        "promise": HONEST_WAY if covered else None,
        "notes": () if covered else (short,),
    }
