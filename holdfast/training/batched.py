"""SGD for all clients of a round at once: one batched computation in place of many small ones."""

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from ..models import named_params
from .schedule import Shard

__all__ = ["batched_sgd"]


def batched_sgd(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
) -> NDArray[np.float32]:
    """Return the same as `sgd`, up to rounding: every client takes its steps side by side with the others.

    A client that has finished, or whose batch is not full, has weights of zero there.

    >>> from holdfast.models import flat_params, mlp
    >>> shard = Shard(np.ones((4, 2), np.float32), np.zeros(4, np.int64), np.array([[0, 1], [2, 3]]))
    >>> model = mlp(sizes=(2, 2))
    >>> batched_sgd(model, flat_params(model), [shard, shard]).shape
    (2, 6)
    """
    device = next(model.parameters()).device
    start = torch.from_numpy(params).to(device)
    rows = start.repeat(len(shards), 1)
    velocity = torch.zeros_like(rows) if momentum else None

    def loss(flat: Tensor, x: Tensor, y: Tensor, weights: Tensor) -> Tensor:
        scores = functional_call(model, named_params(model, flat), (x,))
        return (functional.cross_entropy(scores, y, reduction="none") * weights).sum()

    gradients = vmap(grad(loss), randomness="different")
    x, y, positions, weights = _together(shards, device)
    n_steps = [len(shard.batches) for shard in shards]
    for step in range(max(n_steps)):
        at = positions[step]
        gradient = gradients(rows, x[at], y[at], weights[step])
        if velocity is not None:
            velocity = momentum * velocity + gradient
            gradient = velocity * (weights[step].sum(dim=1, keepdim=True) > 0)
        rows = rows - lr * gradient
    return (rows - start).cpu().numpy()


def _together(shards: Sequence[Shard], device: torch.device) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return all examples one after the other, and per step the positions and weights of each client's batch."""
    starts = np.cumsum([0, *(len(shard.y) for shard in shards)])
    n_steps, width = max(len(s.batches) for s in shards), max(s.batches.shape[1] for s in shards)
    batches = np.full((n_steps, len(shards), width), -1)
    for client, shard in enumerate(shards):
        steps, size = shard.batches.shape
        batches[:steps, client, :size] = np.where(shard.batches >= 0, shard.batches + starts[client], -1)
    is_real = batches >= 0
    weights = is_real / np.maximum(1, is_real.sum(axis=2, keepdims=True))
    return (
        torch.from_numpy(np.concatenate([shard.x for shard in shards])).to(device),
        torch.from_numpy(np.concatenate([shard.y for shard in shards])).to(device),
        torch.from_numpy(np.maximum(batches, 0)).to(device),
        torch.from_numpy(weights.astype(np.float32)).to(device),
    )
