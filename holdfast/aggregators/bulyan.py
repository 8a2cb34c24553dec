"""Bulyan: a crowd selected by repeated Krum, then, per coordinate, the values closest to its median."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from .._support.counting import check_whole
from ..core import Aggregate, rule
from ..errors import TooFewClientsError
from ..updates.rows import Updates, rows_of
from .adapting import fewer_attackers
from .geometry import clear_distances
from .outcome import outcome

__all__ = ["bulyan"]


@rule(adapt=fewer_attackers)
def bulyan(updates: Updates, *, n_malicious: int) -> Aggregate:
    """Return the mean, per coordinate, of the n - 4f values closest to the median of n - 2f selected updates.

    El Mhamdi et al., 2018, https://arxiv.org/abs/1802.07927. Krum selects one update after the other, each
    among those that are left. With fewer than f + 3 left, where Krum is not defined, one neighbour counts;
    a tie goes to the update that is closest to all that are left. No sign is preferred among values below and
    above the median that are equally close to it.

    >>> crowd = np.array([[1.0], [2.0], [3.0], [4.0], [5.0], [6.0], [99.0]])
    >>> bulyan(crowd, n_malicious=1).update
    array([4.])
    """
    check_whole("n_malicious", n_malicious, at_least=0)
    rows = rows_of(updates)
    n = len(rows)
    if n < max(4 * n_malicious + 1, 3):
        raise TooFewClientsError(
            "bulyan needs n >= 4f + 1 clients, and at least 3; take more per round, assume fewer attackers"
            f" (n_malicious), or use the median, which needs no f: got n={n}, f={n_malicious}"
        )
    distances = clear_distances(rows, n - n_malicious - 2)
    chosen = repeated_krum(distances, n_malicious, n_selected=n - 2 * n_malicious)
    seen = kernels.nearest_mean_among(rows, chosen, n_trimmed=n_malicious)
    selected = np.isin(np.arange(n), chosen)
    return outcome("bulyan", rows, seen, selected=selected, **_guarantee(n, n_malicious))


def repeated_krum(distances: NDArray[np.float64], n_malicious: int, *, n_selected: int) -> NDArray[np.intp]:
    """Return the rows that Krum selects one after the other, in the order of their numbers.

    >>> places = np.array([0.0, 1.0, 1.1, 1.3, 9.0])
    >>> repeated_krum((places[:, None] - places) ** 2, 1, n_selected=3)
    array([1, 2, 3])
    """
    left = np.arange(len(distances))
    others = np.argsort(distances + np.diag(np.full(len(left), np.inf)), axis=1, kind="stable")[:, :-1]
    away = np.take_along_axis(distances, others, axis=1)  # [row, neighbour], the nearest first
    for _ in range(n_selected):
        n_nearest = max(1, len(left) - n_malicious - 2)
        best = np.lexsort((away.sum(axis=1), away[:, :n_nearest].sum(axis=1)))[0]
        is_left = np.delete(others, best, axis=0) != left[best]
        left, shape = np.delete(left, best), (len(left) - 1, -1)
        if len(left):
            others, away = (np.delete(part, best, axis=0)[is_left].reshape(shape) for part in (others, away))
    return np.setdiff1d(np.arange(len(distances)), left)


def _guarantee(n_clients: int, n_malicious: int) -> dict[str, Any]:
    """Return what Bulyan's theorem, which needs n >= 4f + 3, says of this round."""
    covered = n_clients >= 4 * n_malicious + 3
    notes = []
    if not covered:
        needed = 4 * n_malicious + 3
        notes.append(f"the guarantee needs n >= 4f + 3 = {needed} clients; this round has {n_clients}")
    if n_malicious == 0:
        notes.append("n_malicious=0: everybody is selected and nothing left out, plain averaging")
    said = {"tolerates": n_malicious, "promise": "every coordinate stays near an honest client's value"}
    return {"covered": covered, "notes": tuple(notes), **(said if covered else {})}
