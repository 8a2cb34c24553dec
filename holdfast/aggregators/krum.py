"""Krum: trust the update that sits deepest in the crowd."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from .._support.counting import check_whole
from ..core import Aggregate, rule
from ..errors import TooFewClientsError
from ..updates.rows import Rows, Updates, rows_of
from .geometry import squared_distances
from .outcome import weighted_sum

__all__ = ["krum"]

Array = NDArray[np.float64]


@rule
def krum(updates: Updates, *, n_malicious: int) -> Aggregate:
    """Return the one update closest to its n - f - 2 nearest neighbours.

    Blanchard et al., 2017, https://arxiv.org/abs/1703.02757

    >>> crowd = np.array([[1.0], [1.1], [0.9], [1.0], [99.0]])
    >>> krum(crowd, n_malicious=1).update
    array([1.])
    """
    rows = rows_of(updates)
    client_weights = np.eye(len(rows))[crowd_scores("krum", rows, n_malicious).argmin()]
    guarantee = krum_guarantee(len(rows), n_malicious)
    return weighted_sum("krum", rows, client_weights, selected=client_weights > 0, **guarantee)


def crowd_scores(
    rule: str, rows: Rows, n_malicious: int, distances: Callable[[Array], Array] = squared_distances
) -> Array:
    """Return each row's summed distance to its n - f - 2 nearest neighbours; there must be at least one."""
    check_whole("n_malicious", n_malicious, at_least=0)
    n = len(rows)
    if n < n_malicious + 3:
        raise TooFewClientsError(
            f"{rule} needs n >= f + 3 clients; take more per round, assume fewer attackers (n_malicious),"
            f" or use the median, which needs no f: got n={n}, f={n_malicious}"
        )
    others = distances(kernels.gram(rows))[~np.eye(n, dtype=bool)].reshape(n, n - 1)
    return np.asarray(np.sort(others, axis=1)[:, : n - n_malicious - 2].sum(axis=1))


def krum_guarantee(n_clients: int, n_malicious: int) -> dict[str, Any]:
    """Return what Krum's theorem, which needs n > 2f + 2, says of this round."""
    covered = n_clients > 2 * n_malicious + 2
    short = f"the guarantee needs n > 2f + 2 = {2 * n_malicious + 2} clients; this round has {n_clients}"
    return {
        "covered": covered,
        "tolerates": n_malicious if covered else None,
        "notes": () if covered else (short,),
    }
