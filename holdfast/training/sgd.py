"""Plain SGD, one client after the other."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn
from torch.nn import functional

from ..models import flat_params
from .schedule import Shard

__all__ = ["sgd"]


def sgd(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
) -> NDArray[np.float32]:
    """Return what each client's training adds to the params, one row a client.

    >>> from holdfast.models import mlp
    >>> shard = Shard(np.ones((4, 2), np.float32), np.zeros(4, np.int64), np.array([[0, 1], [2, 3]]))
    >>> model = mlp(sizes=(2, 2))
    >>> sgd(model, flat_params(model), [shard]).shape
    (1, 6)
    """
    device = next(model.parameters()).device
    start = torch.from_numpy(params).to(device)
    updates = np.empty((len(shards), params.size), dtype=np.float32)
    for row, shard in zip(updates, shards, strict=True):
        nn.utils.vector_to_parameters(start.clone(), model.parameters())  # it becomes their memory
        optimiser = torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum)
        x, y = torch.from_numpy(shard.x).to(device), torch.from_numpy(shard.y).to(device)
        for batch in shard.batches:
            positions = torch.from_numpy(batch[batch >= 0]).to(device)
            optimiser.zero_grad()
            functional.cross_entropy(model(x[positions]), y[positions]).backward()  # type: ignore[no-untyped-call]
            optimiser.step()
        row[:] = flat_params(model) - params
    nn.utils.vector_to_parameters(start.clone(), model.parameters())
    return updates
