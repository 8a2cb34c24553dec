"""Projected gradient descent: an attacker that never strays further from the global model than it may."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...errors import InputError
from ..lazy_torch import Tensor, nn, torch
from .batched import descend
from .schedule import Shard

__all__ = ["projected_sgd"]


def projected_sgd(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
    radius: float = 1.0,
    every: int = 10,
) -> NDArray[np.float32]:
    """Return SGD's updates, brought back onto the ball at every `every`-th step and at the last.

    PGD of Wang et al., 2020, https://arxiv.org/abs/2007.05084

    >>> from holdfast.lab.models import flat_params, mlp
    >>> shard = Shard(np.ones((4, 2), np.float32), np.zeros(4, np.int64), np.array([[0, 1], [2, 3]]))
    >>> model = mlp(sizes=(2, 2))
    >>> update = projected_sgd(model, flat_params(model), [shard], lr=9.0, radius=0.5)
    >>> round(float(np.linalg.norm(update)), 4)
    0.5
    """
    check_whole("every", every, at_least=1)
    if not 0 < radius < np.inf:
        raise InputError(f"radius must be a finite number above 0; got {radius!r}")

    def confine(moved: Tensor, step: int, is_last: Tensor) -> Tensor:
        due = is_last | (step % every == 0)
        norms = torch.linalg.vector_norm(moved, dim=1)
        scale = torch.where(due & (norms > radius), radius / norms, 1.0)
        return moved * scale[:, None]

    return descend(model, params, shards, lr=lr, momentum=momentum, confine=confine)
