"""Constrained training: an attacker that learns its backdoor and stays near the global model, in one loss."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..lazy_torch import Tensor, nn, torch
from .batched import descend
from .schedule import Shard

__all__ = ["constrained_sgd"]


def constrained_sgd(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
    a: float = 0.9,
) -> NDArray[np.float32]:
    """Return the updates of SGD on a * cross-entropy + (1 - a) * distance to the global params.

    Bagdasaryan et al., 2020, https://arxiv.org/abs/1807.00459, eq. 4. Scaling up is a craft's work.

    >>> from holdfast.lab.models import flat_params, mlp
    >>> shard = Shard(np.ones((4, 2), np.float32), np.zeros(4, np.int64), np.array([[0, 1], [2, 3]]))
    >>> model = mlp(sizes=(2, 2))
    >>> constrained_sgd(model, flat_params(model), [shard], a=0.5).shape
    (1, 6)
    """
    if not 0 < a <= 1:
        raise InputError(f"a, the weight of the cross-entropy, must be in (0, 1]; got {a!r}")

    def bend(gradient: Tensor, moved: Tensor) -> Tensor:
        norms = torch.linalg.vector_norm(moved, dim=1, keepdim=True)
        outwards = torch.where(norms > 0, moved / norms, 0.0)  # the gradient of the distance, 0 at its start
        return a * gradient + (1 - a) * outwards

    return descend(model, params, shards, lr=lr, momentum=momentum, bend=bend)
