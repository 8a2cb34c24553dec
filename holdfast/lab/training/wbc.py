"""FL-WBC: honest clients perturb what hardly changes, where attacks would persist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..lazy_torch import Tensor, nn, torch
from .local import Optimiser, fresh_optimiser, take_steps, train_each
from .schedule import Shard, Trained

__all__ = ["fl_wbc"]


def fl_wbc(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
    optimiser: Optimiser = "sgd",
    strength: float = 0.4,
) -> Trained:
    """Return the updates of clients who, after each step, add noise where the gradient hardly changed.

    FL-WBC, Sun et al., 2021, https://arxiv.org/abs/2110.13864. After a step, `lr * P` is added to each
    parameter, with P drawn from a Laplace distribution of scale `strength`, wherever the gradient has changed
    by no more than |P| since the step before: there the loss is flat, nothing corrects a weight, and what an
    attacker puts in stays. A client's first step has nothing to compare with. The published code leaves out
    biases, and the first step of each epoch.

    >>> from holdfast.lab.models import flat_params, mlp
    >>> shard = Shard(np.ones((4, 2), np.float32), np.zeros(4, np.int64), np.array([[0, 1], [2, 3]]))
    >>> model = mlp(sizes=(2, 2))
    >>> still, noisy = (fl_wbc(model, flat_params(model), [shard], strength=s).updates for s in (0.0, 0.4))
    >>> bool((still == noisy).all())
    False
    """
    if not 0 <= strength < np.inf:
        raise InputError(f"strength must be a finite number of at least 0; got {strength!r}")
    parts = [part for part in model.parameters() if part.requires_grad]

    def train(shard: Shard) -> None:
        generator, before = torch.Generator().manual_seed(shard.seed), list[Tensor]()

        def perturb(*_: Any) -> None:
            now = [torch.zeros_like(part) if part.grad is None else part.grad.clone() for part in parts]
            with torch.no_grad():
                for part, gradient, last in zip(parts, now, before, strict=False):
                    drawn = _laplace(part, strength, generator)
                    part.add_(torch.where((gradient - last).abs() <= drawn.abs(), lr * drawn, 0.0))
            before[:] = now

        steps = fresh_optimiser(parts, optimiser=optimiser, lr=lr, momentum=momentum)
        steps.register_step_post_hook(perturb)
        take_steps(model, shard, steps)

    return train_each(model, params, shards, train)


def _laplace(like: Tensor, scale: float, generator: torch.Generator) -> Tensor:
    """Return numbers of a Laplace distribution, drawn where every machine draws the same."""
    uniform = torch.rand(like.shape, generator=generator, dtype=torch.float64) - 0.5
    drawn = -scale * uniform.sign() * torch.log1p(-2 * uniform.abs())
    return drawn.to(like.dtype).to(like.device)
