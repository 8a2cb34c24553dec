"""One client after the other, with optimisers of torch that start afresh each round."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..lazy_torch import Tensor, functional, nn, torch
from ..models import load_params, named_buffers
from .schedule import Kept, Shard, Trained, check_pace

__all__ = ["Optimiser", "adam", "cross_entropy", "fresh_optimiser", "sgd", "take_steps", "train_each"]

Optimiser = Literal["sgd", "adam"]


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
    check_pace(lr, momentum)

    def train(shard: Shard) -> None:
        take_steps(model, shard, torch.optim.SGD(model.parameters(), lr=lr, momentum=momentum))

    return train_each(model, params, shards, train)


def adam(
    model: nn.Module, params: NDArray[np.float32], shards: Sequence[Shard], *, lr: float = 1e-4
) -> Trained:
    """Return what each client's training by Adam adds. Its first step is close to lr * sign(gradient)."""
    check_pace(lr)

    def train(shard: Shard) -> None:
        take_steps(model, shard, torch.optim.Adam(model.parameters(), lr=lr))

    return train_each(model, params, shards, train)


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
        _subtract(model, params, row)
        buffers.append(named_buffers(model))
    load_params(model, params, before)
    return Trained(updates, tuple(buffers) if before else (), tuple(memory))


def _subtract(model: nn.Module, params: NDArray[np.float32], row: NDArray[np.float32]) -> None:
    """Set a row to what the network's parameters are beyond these; no copy of all of them is made."""
    start = 0
    for parameter in model.parameters():
        own = slice(start, start + parameter.numel())
        np.subtract(parameter.detach().reshape(-1).cpu().numpy(), params[own], out=row[own])
        start = own.stop


def fresh_optimiser(
    parameters: Iterable[nn.Parameter], *, optimiser: Optimiser, lr: float, momentum: float
) -> torch.optim.Optimizer:
    """Return an optimiser of these parameters that has taken no step; Adam has no use for the momentum."""
    if optimiser == "sgd":
        return torch.optim.SGD(parameters, lr=lr, momentum=momentum)
    if optimiser == "adam":
        return torch.optim.Adam(parameters, lr=lr)
    raise InputError(f'optimiser must be "sgd" or "adam"; got {optimiser!r}')


def cross_entropy(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
    """Return the mean cross-entropy of a batch."""
    return functional.cross_entropy(model(x), y)


def take_steps(
    model: nn.Module,
    shard: Shard,
    steps: torch.optim.Optimizer,
    loss: Callable[[nn.Module, Tensor, Tensor], Tensor] = cross_entropy,
) -> None:
    """Take a step down the loss on each batch of the shard."""
    x, y = shard.on(model)
    model.train()
    for batch in shard.batches:
        positions = torch.from_numpy(batch[batch >= 0]).to(x.device)
        steps.zero_grad()
        loss(model, x[positions], y[positions]).backward()  # type: ignore[no-untyped-call]
        steps.step()
