"""SGD for all clients of a round at once: one batched computation in place of many small ones."""

from collections.abc import Callable, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from ..models import named_params
from .schedule import Shard

__all__ = ["batched_sgd", "descent"]


def batched_sgd(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
) -> NDArray[np.float32]:
    """Return the same as `sgd`, up to rounding: every client takes its steps side by side with the others.

    >>> from holdfast.models import flat_params, mlp
    >>> shard = Shard(np.ones((4, 2), np.float32), np.zeros(4, np.int64), np.array([[0, 1], [2, 3]]))
    >>> model = mlp(sizes=(2, 2))
    >>> batched_sgd(model, flat_params(model), [shard, shard]).shape
    (2, 6)
    """
    return descent(model, params, shards, lr=lr, momentum=momentum)


def descent(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float,
    momentum: float = 0.0,
    bend: Callable[[Tensor, Tensor], Tensor] | None = None,
    confine: Callable[[Tensor, int, Tensor], Tensor] | None = None,
) -> NDArray[np.float32]:
    """Return one update a shard; an attacker may bend the gradients, and confine how far it has moved.

    `bend(gradients, moved)` and `confine(moved, step, is_last)` get a row a client: `moved` is its way from
    the params, `step` counts from 1, `is_last` marks those that end here. A client that has finished, or
    whose batch is not full, has weights of zero there.

    >>> from holdfast.models import flat_params, mlp
    >>> shard = Shard(np.ones((4, 2), np.float32), np.zeros(4, np.int64), np.array([[0, 1], [2, 3]]))
    >>> model = mlp(sizes=(2, 2))
    >>> float(descent(model, flat_params(model), [shard], lr=0.1, confine=lambda moved, *_: 0 * moved).sum())
    0.0
    """
    device = next(model.parameters()).device
    start = torch.from_numpy(params).to(device)
    gradients = _gradients(model)
    x, y, positions, weights = _together(shards, device)
    n_steps = torch.tensor([len(shard.batches) for shard in shards], device=device)
    rows = start.repeat(len(shards), 1)
    velocity = torch.zeros_like(rows)
    for step, (at, shares) in enumerate(zip(positions, weights, strict=True), start=1):
        gradient = gradients(rows, x[at], y[at], shares)
        if bend is not None:
            gradient = bend(gradient, rows - start)
        if momentum:
            gradient = velocity = momentum * velocity + gradient
        rows = rows - lr * gradient * (n_steps >= step)[:, None]
        if confine is not None:
            rows = start + confine(rows - start, step, n_steps == step)
    return (rows - start).cpu().numpy()


def _gradients(model: nn.Module) -> Callable[..., Tensor]:
    """Return the function from rows of params, and a weighted batch for each, to rows of gradients."""

    def loss(flat: Tensor, x: Tensor, y: Tensor, weights: Tensor) -> Tensor:
        scores = functional_call(model, named_params(model, flat), (x,))
        return (functional.cross_entropy(scores, y, reduction="none") * weights).sum()

    return vmap(grad(loss), randomness="different")


def _together(shards: Sequence[Shard], device: torch.device) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Return all examples in a row, and per step the positions and weights of each client's batch."""
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
