"""Training that keeps an attacker's model in the direction of the global one."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..lazy_torch import Tensor, functional, nn, torch
from .local import Optimiser, cross_entropy, fresh_optimiser, take_steps, train_each
from .schedule import Shard, Trained

__all__ = ["cosine_constrained"]


def cosine_constrained(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
    optimiser: Optimiser = "sgd",
    a: float = 0.5,
) -> Trained:
    """Return the updates of training on (1 - a) * cross-entropy + a * (1 - cosine to the global params).

    Huang et al., 2025, https://openreview.net/forum?id=QuyiaV8tW3: aimed at defences that compare the angles
    between clients' models. As in the authors' code, the cosine is to the global model as it was sent out.

    >>> from holdfast.lab.models import flat_params, mlp
    >>> shard = Shard(np.ones((4, 2), np.float32), np.zeros(4, np.int64), np.array([[0, 1], [2, 3]]))
    >>> model = mlp(sizes=(2, 2))
    >>> bool(np.abs(cosine_constrained(model, flat_params(model), [shard], a=1.0).updates).max() < 1e-5)
    True
    """
    if not 0 <= a <= 1:
        raise InputError(f"a, the weight of the cosine, must be in [0, 1]; got {a!r}")
    start = torch.from_numpy(params).to(next(model.parameters()).device)

    def loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
        here = torch.nn.utils.parameters_to_vector(model.parameters())
        return (1 - a) * cross_entropy(model, x, y) + a * (
            1 - functional.cosine_similarity(here, start, dim=0)
        )

    def train(shard: Shard) -> None:
        steps = fresh_optimiser(model.parameters(), optimiser=optimiser, lr=lr, momentum=momentum)
        take_steps(model, shard, steps, loss)

    return train_each(model, params, shards, train)
