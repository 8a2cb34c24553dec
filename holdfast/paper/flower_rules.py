"""Flower's strategies as rules. Reading what they came to needs no Flower: it is imported where one runs."""

from importlib import import_module
from typing import Any

from numpy.typing import ArrayLike

from ..core import Aggregate, rule
from ..updates.rows import Updates

__all__ = ["flower_fedavg", "flower_median", "flower_multi_krum", "flower_trimmed_avg"]


@rule
def flower_fedavg(updates: Updates, *, params: Any = None, weights: ArrayLike | None = None) -> Aggregate:
    """Return what Flower's FedAvg makes of the round.

    >>> import numpy as np
    >>> flower_fedavg(np.array([[0.0, 2.0], [4.0, 2.0]]), weights=[1, 3]).update
    array([3., 2.])
    """
    return _aggregated("FedAvg", updates, params, weights)


@rule
def flower_median(updates: Updates, *, params: Any = None, weights: ArrayLike | None = None) -> Aggregate:
    """Return what Flower's FedMedian makes of the round.

    >>> import numpy as np
    >>> flower_median(np.array([[1.0], [2.0], [9.0]])).update
    array([2.])
    """
    return _aggregated("FedMedian", updates, params, weights)


@rule
def flower_trimmed_avg(
    updates: Updates, *, params: Any = None, weights: ArrayLike | None = None, beta: float = 0.2
) -> Aggregate:
    """Return what Flower's FedTrimmedAvg makes of the round, with a share `beta` cut off on both sides.

    >>> import numpy as np
    >>> flower_trimmed_avg(np.array([[1.0], [2.0], [3.0], [4.0], [100.0]]), beta=0.2).update
    array([3.])
    """
    return _aggregated("FedTrimmedAvg", updates, params, weights, beta=beta)


@rule
def flower_multi_krum(
    updates: Updates,
    *,
    params: Any = None,
    weights: ArrayLike | None = None,
    n_malicious: int,
    n_selected: int = 1,
) -> Aggregate:
    """Return what Flower's MultiKrum makes of the round; with one client selected it is Krum.

    >>> import numpy as np
    >>> flower_multi_krum(np.array([[1.0], [1.1], [0.9], [1.0], [99.0]]), n_malicious=1).update
    array([1.])
    """
    counts = {"num_malicious_nodes": n_malicious, "num_nodes_to_select": n_selected}
    return _aggregated("MultiKrum", updates, params, weights, **counts)


def _aggregated(name: str, updates: Updates, params: Any, weights: Any, **settings: Any) -> Aggregate:
    """Return what the strategy of this name makes of the round; raises what to install where it is not."""
    from ..flower.rules import aggregated_by

    strategy = getattr(import_module("flwr.serverapp.strategy"), name)(**settings)
    return aggregated_by(strategy, updates, params=params, weights=weights)
