"""Adam with a fresh state each round, one client after the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..lazy_torch import nn, torch
from .local import train_each
from .schedule import Shard, Trained

__all__ = ["adam"]


def adam(
    model: nn.Module, params: NDArray[np.float32], shards: Sequence[Shard], *, lr: float = 1e-4
) -> Trained:
    """Return what each client's training adds to the params. Its first step is close to lr * sign(gradient).

    >>> from holdfast.lab.models import flat_params, mlp
    >>> shard = Shard(np.ones((4, 2), np.float32), np.zeros(4, np.int64), np.array([[0, 1]]))
    >>> model = mlp(sizes=(2, 2))
    >>> updates = adam(model, flat_params(model), [shard], lr=0.5).updates
    >>> bool(abs(abs(updates) - 0.5).max() < 1e-4)
    True
    """
    return train_each(model, params, shards, partial(torch.optim.Adam, lr=lr))
