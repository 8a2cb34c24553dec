"""Divide and conquer: drop those who stick out along the direction in which updates differ most."""

from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from .. import kernels
from .._support.counting import check_whole, whole_share
from ..core import Aggregate, rule
from ..errors import TooFewClientsError
from ..updates.rows import Rows, Updates, rows_of
from .adapting import fewer_attackers
from .clusters import principal_points
from .filtering import mean_of_kept
from .settings import check_positive

__all__ = ["dnc"]


@rule(adapt=fewer_attackers)
def dnc(
    updates: Updates,
    *,
    n_malicious: int,
    n_repeats: int = 5,
    n_coordinates: int = 10_000,
    filtering: float = 1.0,
    rng: np.random.Generator,
) -> Aggregate:
    """Return the mean of those who are never among the furthest along the main direction of differences.

    Shejwalkar & Houmansadr, 2021, https://doi.org/10.14722/ndss.2021.24498. Each of n_repeats draws
    n_coordinates, takes the top singular vector of the centred updates there, and drops the ceil(c * f)
    clients with the longest projections on it; c is `filtering`. Who is dropped once is out. One attacker
    who goes far chooses the direction that is looked at, and shields others who stay near the mean along it.

    >>> crowd = np.array([[1.0, 0.1], [1.1, 0.0], [0.9, 0.0], [1.0, 0.0], [1.0, 9.0]])
    >>> dnc(crowd, n_malicious=1, rng=np.random.default_rng(0)).diagnostics.selected
    array([ True,  True,  True,  True, False])
    """
    check_whole("n_malicious", n_malicious, at_least=0)
    check_whole("n_repeats", n_repeats, at_least=1)
    check_whole("n_coordinates", n_coordinates, at_least=1)
    check_positive("filtering", filtering)
    rows = rows_of(updates)
    n_dropped = whole_share(filtering, n_malicious)
    if n_dropped >= len(rows):
        raise TooFewClientsError(
            f"dnc drops c * f = {n_dropped} clients in each repeat and needs more than that; take more per"
            f" round, or assume fewer attackers (n_malicious): got n={len(rows)}, f={n_malicious}"
        )
    is_kept = np.ones(len(rows), dtype=np.bool_)
    if rows.dim <= n_coordinates:  # all repeats see the same
        n_repeats = 1
    for _ in range(n_repeats):
        size = min(n_coordinates, rows.dim)
        where = np.sort(rng.choice(rows.dim, size=size, replace=False))
        order = np.argsort(outlier_scores(rows, where), kind="stable")
        is_kept[order[len(rows) - n_dropped :]] = False
    notes: tuple[str, ...] = (
        () if n_dropped else ("n_malicious=0: nobody is dropped, and this is plain averaging",)
    )
    if 2 * n_malicious >= len(rows):
        notes += (f"needs an honest majority; {n_malicious} of {len(rows)} clients are assumed malicious",)
    return mean_of_kept("dnc", rows, is_kept, notes=notes)


def outlier_scores(rows: Rows, where: NDArray[np.int64]) -> NDArray[np.float64]:
    """Return how far each row lies from the mean along the main direction, of these coordinates alone."""
    sampled = rows.at(where).astype(np.float64)
    seen = replace(rows_of(sampled), positions=rows.positions)
    kernels.squared_norms(seen)  # refuses rows that would spoil the mean
    centred = replace(seen, base=(sampled.mean(axis=0),))
    return np.abs(principal_points(kernels.gram(centred), 1)[:, 0])
