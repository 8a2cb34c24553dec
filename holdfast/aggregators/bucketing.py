"""Bucketing: means of a few clients each, drawn by lot, then another rule decides."""

from typing import Any

import numpy as np

from .. import kernels
from .._support.counting import check_whole
from ..core import Aggregate, Rule, rule
from ..errors import InputError, TooFewClientsError
from ..updates.rows import Updates, rows_of
from .fronts import in_front
from .settings import shares
from .trimmed_mean import trimmed_mean

__all__ = ["bucketing"]


@rule
def bucketing(
    updates: Updates, *, size: int = 2, rule: Rule = trimmed_mean, rng: np.random.Generator, **inputs: Any
) -> Aggregate:
    """Return what another rule makes of the means of `size` updates each, put together by lot.

    Karimireddy et al., 2022, https://arxiv.org/abs/2006.09365. Means differ less than clients do, and an
    attacker spoils one of them. Where n is not a multiple of the size, the last mean is of those that are
    left. A rule that asks for sample counts gets the sum of each bucket's.

    >>> clients = np.array([[1.0], [1.0], [1.0], [1.0], [1.0], [99.0]])
    >>> bucketing(clients, rng=np.random.default_rng(0)).update
    array([1.])
    """
    check_whole("size", size, at_least=1)
    if rule.needs("clients"):
        raise InputError(
            f"{rule.name} knows clients by their ids, and a bucket holds several: use nnm or arc before it"
        )
    rows = rows_of(updates)
    n = len(rows)
    if n <= 2 * size:  # what lies between two means is the mean of all clients
        raise TooFewClientsError(
            "bucketing needs at least three buckets, n > 2 size; take more clients per round or a smaller"
            f" size: got n={n}, size={size}"
        )
    kernels.squared_norms(rows)  # who is not finite is refused before anything is drawn
    bucket_of = np.empty(n, dtype=np.intp)
    bucket_of[rng.permutation(n)] = np.arange(n) // size
    is_in = np.arange(-(-n // size))[:, None] == bucket_of
    if inputs.get("weights") is not None:
        inputs["weights"] = is_in @ shares(inputs["weights"], n)
    weights = is_in / is_in.sum(axis=1, keepdims=True)
    return in_front("bucketing", rows, weights, rule, {**inputs, "rng": rng})
