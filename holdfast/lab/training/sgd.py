"""Plain SGD, one client after the other."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..lazy_torch import nn, torch
from .local import train_each
from .schedule import Shard, Trained

__all__ = ["sgd"]


def sgd(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
) -> Trained:
    """Return what each client's training adds to the params, one row per client.

    >>> from holdfast.lab.models import flat_params, mlp
    >>> shard = Shard(np.ones((4, 2), np.float32), np.zeros(4, np.int64), np.array([[0, 1], [2, 3]]))
    >>> model = mlp(sizes=(2, 2))
    >>> sgd(model, flat_params(model), [shard]).updates.shape
    (1, 6)
    """
    return train_each(model, params, shards, partial(torch.optim.SGD, lr=lr, momentum=momentum))
