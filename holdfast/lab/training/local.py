"""One client after the other, with any optimiser of torch: what `sgd` and `adam` have in common."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from ..lazy_torch import functional, nn, torch
from ..models import flat_params, load_params, named_buffers
from .schedule import Array, Shard, Trained

__all__ = ["train_each"]


def train_each(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    optimiser: Callable[[Iterable[nn.Parameter]], torch.optim.Optimizer],
) -> Trained:
    """Return what each client's training adds to the params; the model's buffers are where all start from.

    >>> from holdfast.lab.models import mlp
    >>> shard = Shard(np.ones((4, 2), np.float32), np.zeros(4, np.int64), np.array([[0, 1], [2, 3]]))
    >>> model = mlp(sizes=(2, 2))
    >>> train_each(model, flat_params(model), [shard], torch.optim.Adam).updates.shape
    (1, 6)
    """
    device = next(model.parameters()).device
    before = named_buffers(model)
    updates = np.empty((len(shards), params.size), dtype=np.float32)
    buffers: list[dict[str, Array]] = []
    model.train()
    for row, shard in zip(updates, shards, strict=True):
        load_params(model, params, before)
        steps = optimiser(model.parameters())
        x, y = torch.as_tensor(shard.x, device=device), torch.as_tensor(shard.y, device=device)
        for batch in shard.batches:
            positions = torch.from_numpy(batch[batch >= 0]).to(device)
            steps.zero_grad()
            functional.cross_entropy(model(x[positions]), y[positions]).backward()  # type: ignore[no-untyped-call]
            steps.step()
        np.subtract(flat_params(model), params, out=row)
        buffers.append(named_buffers(model))
    load_params(model, params, before)
    return Trained(updates, tuple(buffers) if before else ())
