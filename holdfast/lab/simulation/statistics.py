"""BatchNorm's running statistics where clients do not send them.

Some simulators hand only parameters from client to client, and train all clients on one network. Its running
statistics then wander from one client to the next, and the server's own never move. Both meet in what is
measured: accuracy on the worker's network, the backdoor on the server's.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..lazy_torch import nn

__all__ = ["statistics_of_worker"]

Buffers = Mapping[str, NDArray[Any]]


def statistics_of_worker(model: nn.Module, before: Buffers, after: Sequence[Buffers]) -> dict[str, Any]:
    """Return the statistics of a worker that trained the clients one after the other.

    Each client's statistics `after` its training were measured from `before`. A batch moves a running mean r
    by m (b - r), whatever r is, so the clients' moves can be chained: k batches leave (1 - m)^k of the start.

    >>> model, before = nn.BatchNorm1d(1), {"running_mean": np.zeros(1), "num_batches_tracked": np.array(0)}
    >>> client = {"running_mean": np.array([0.1]), "num_batches_tracked": np.array(1)}  # saw a mean of 1
    >>> chained = statistics_of_worker(model, before, [client, client])
    >>> chained["running_mean"].round(2), chained["num_batches_tracked"]
    (array([0.19]), array(2))
    """
    worker = {name: np.asarray(value) for name, value in before.items()}
    for prefix, module in model.named_modules():
        counter = f"{prefix}.num_batches_tracked".lstrip(".")
        if not isinstance(module, nn.modules.batchnorm._NormBase) or counter not in before:
            continue
        assert module.momentum is not None
        for client in after:
            n_batches = int(client[counter] - before[counter])
            left = (1 - module.momentum) ** n_batches
            worker[counter] = np.asarray(worker[counter] + n_batches)
            for statistic in ("running_mean", "running_var"):
                name = f"{prefix}.{statistic}".lstrip(".")
                if name in before:
                    moved = client[name] + left * (worker[name].astype(np.float64) - before[name])
                    worker[name] = moved.astype(before[name].dtype)
    return worker
