"""One client after the other, with optimisers of torch that start afresh each round."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..lazy_torch import functional, nn, torch
from ..models import flat_params, load_params, named_buffers
from .schedule import Kept, Shard, Trained

__all__ = ["adam", "sgd", "train_each"]


def sgd(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
) -> Trained:
    """Return what each client's training by SGD adds to the params, one row per client.

    >>> from holdfast.lab.models import flat_params, mlp
    >>> shard = Shard(np.ones((4, 2), np.float32), np.zeros(4, np.int64), np.array([[0, 1], [2, 3]]))
    >>> model = mlp(sizes=(2, 2))
    >>> sgd(model, flat_params(model), [shard]).updates.shape
    (1, 6)
    """
    optimiser = partial(torch.optim.SGD, lr=lr, momentum=momentum)
    return train_each(model, params, shards, partial(_take_steps, model, optimiser))


def adam(
    model: nn.Module, params: NDArray[np.float32], shards: Sequence[Shard], *, lr: float = 1e-4
) -> Trained:
    """Return what each client's training by Adam adds. Its first step is close to lr * sign(gradient)."""
    optimiser = partial(torch.optim.Adam, lr=lr)
    return train_each(model, params, shards, partial(_take_steps, model, optimiser))


def train_each(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    train: Callable[[Shard], Kept | None],
) -> Trained:
    """Return what each client's training adds to the params; the model's buffers are where all start from.

    `train` trains the model on a shard, and returns what the client keeps for its next round.
    """
    before = named_buffers(model)
    updates = np.empty((len(shards), params.size), dtype=np.float32)
    buffers, memory = [], []
    for row, shard in zip(updates, shards, strict=True):
        load_params(model, params, before)
        memory.append(train(shard))
        np.subtract(flat_params(model), params, out=row)
        buffers.append(named_buffers(model))
    load_params(model, params, before)
    return Trained(updates, tuple(buffers) if before else (), tuple(memory))


def _take_steps(model: nn.Module, optimiser: Callable[..., torch.optim.Optimizer], shard: Shard) -> None:
    x, y = shard.on(model)
    steps = optimiser(model.parameters())
    model.train()
    for batch in shard.batches:
        positions = torch.from_numpy(batch[batch >= 0]).to(x.device)
        steps.zero_grad()
        functional.cross_entropy(model(x[positions]), y[positions]).backward()  # type: ignore[no-untyped-call]
        steps.step()
