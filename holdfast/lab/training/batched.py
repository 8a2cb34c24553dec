"""SGD for all clients of a round at once: one batched computation in place of many small ones."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..lazy_torch import Tensor, functional, nn, torch
from ..models import named_buffers, named_params
from .schedule import Shard

__all__ = ["batched_sgd", "descend"]


def batched_sgd(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
) -> NDArray[np.float32]:
    """Return the same as `sgd`, up to rounding: every client takes its steps side by side with the others.

    >>> from holdfast.lab.models import flat_params, mlp
    >>> shard = Shard(np.ones((4, 2), np.float32), np.zeros(4, np.int64), np.array([[0, 1], [2, 3]]))
    >>> model = mlp(sizes=(2, 2))
    >>> batched_sgd(model, flat_params(model), [shard, shard]).shape
    (2, 6)
    """
    return descend(model, params, shards, lr=lr, momentum=momentum)


def descend(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float,
    momentum: float = 0.0,
    bend: Callable[[Tensor, Tensor], Tensor] | None = None,
    confine: Callable[[Tensor, int, Tensor], Tensor] | None = None,
) -> NDArray[np.float32]:
    """Return one update per shard; an attacker may bend the gradients, and confine how far it has moved.

    `bend(gradients, moved)` and `confine(moved, step, is_last)` get one row per client that still trains:
    `moved` is its way from the params, `step` counts from 1, `is_last` marks those that end here.

    >>> from holdfast.lab.models import flat_params, mlp
    >>> shard = Shard(np.ones((4, 2), np.float32), np.zeros(4, np.int64), np.array([[0, 1], [2, 3]]))
    >>> model = mlp(sizes=(2, 2))
    >>> float(descend(model, flat_params(model), [shard], lr=0.1, confine=lambda moved, *_: 0 * moved).sum())
    0.0
    """
    if named_buffers(model):
        raise InputError(
            f"a network with buffers ({', '.join(list(named_buffers(model))[:2])}, ...) cannot train side by"
            " side with others: train it by sgd"
        )
    device = next(model.parameters()).device
    start = torch.from_numpy(params).to(device)
    # Who takes most steps comes first: those still training are then always the first rows.
    order = np.argsort([-len(shard.batches) for shard in shards], kind="stable")
    rows = start.repeat(len(shards), 1)
    velocity = torch.zeros_like(rows) if momentum else None
    for step, (x, y, shares, is_last) in enumerate(_steps([shards[i] for i in order], device), start=1):
        here = rows[: len(y)]
        gradient = _gradient(model, here, x, y, shares)
        if bend is not None:
            gradient = bend(gradient, here - start)
        if velocity is not None:
            gradient = velocity[: len(y)].mul_(momentum).add_(gradient)
        here.sub_(gradient, alpha=lr)
        if confine is not None:
            here.copy_(start + confine(here - start, step, is_last))
    updates = np.empty((len(shards), params.size), dtype=np.float32)
    updates[order] = rows.sub_(start).cpu().numpy()
    return updates


def _gradient(model: nn.Module, rows: Tensor, x: Tensor, y: Tensor, shares: Tensor) -> Tensor:
    """Return each row's gradient of its own loss, the shares-weighted sum over its batch.

    The losses of all are added up: as no row enters another's, one backward pass has all gradients.
    """
    leaves = {name: part.detach().requires_grad_() for name, part in named_params(model, rows).items()}

    def score(named: dict[str, Tensor], batch: Tensor) -> Tensor:
        scores: Tensor = torch.func.functional_call(model, named, (batch,))
        return scores

    scores = torch.func.vmap(score)(leaves, x)
    losses = functional.cross_entropy(scores.flatten(0, 1), y.flatten(), reduction="none")
    gradients = torch.autograd.grad((losses * shares.flatten()).sum(), list(leaves.values()))
    return torch.cat([gradient.flatten(1) for gradient in gradients], dim=1)


def _steps(shards: Sequence[Shard], device: torch.device) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Yield for each step, of the clients that take it: examples, labels, their shares, who ends here."""
    x = torch.cat([torch.as_tensor(shard.x, device=device) for shard in shards])
    y = torch.cat([torch.as_tensor(shard.y, device=device) for shard in shards])
    starts = np.cumsum([0, *(len(shard.y) for shard in shards)])
    n_steps = np.array([len(shard.batches) for shard in shards])
    for step in range(n_steps.max()):
        batches = [shard.batches[step] for shard in shards[: int((n_steps > step).sum())]]
        sizes = [int((batch >= 0).sum()) for batch in batches]
        at = np.zeros((len(batches), max(sizes)), dtype=np.intp)
        shares = np.zeros(at.shape, dtype=np.float32)
        for client, (batch, size) in enumerate(zip(batches, sizes, strict=True)):
            at[client, :size] = batch[batch >= 0] + starts[client]
            shares[client, :size] = 1 / size
        places = torch.from_numpy(at).to(device)
        is_last = torch.from_numpy(n_steps[: len(batches)] == step + 1).to(device)
        yield x[places], y[places], torch.from_numpy(shares).to(device), is_last
