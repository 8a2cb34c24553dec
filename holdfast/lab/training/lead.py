"""LeadFL: honest clients steer their training towards where attacks do not persist."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..lazy_torch import Tensor, nn, torch
from .local import Optimiser, fresh_optimiser, take_steps, train_each
from .schedule import Shard, Trained

__all__ = ["lead_fl"]


def lead_fl(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
    optimiser: Optimiser = "sgd",
    weight: float = 0.4,
    cap: float = 0.2,
) -> Trained:
    """Return the updates of clients who, after each step, lower how much of an attack the next one keeps.

    LeadFL, Zhu et al., 2023, https://proceedings.mlr.press/v202/zhu23j.html, eq. 2 to 4. What a step keeps of
    an attack is I - lr * H, with the Hessian's diagonal estimated from how the way of a step differs from
    that of the step before. After each step but the first, `lr * weight` times the gradient of
    |I - lr * H|, tensor by tensor, is taken off the parameters, with its coordinates capped at +-`cap`. The
    published code differs from these equations: it puts the last gradient in place of the last way and lr
    in place of 1, and takes the step on the examples a second time.

    >>> from holdfast.lab.models import flat_params, mlp
    >>> shard = Shard(np.ones((4, 2), np.float32), np.zeros(4, np.int64), np.array([[0, 1], [2, 3]]))
    >>> model = mlp(sizes=(2, 2))
    >>> plain, led = (lead_fl(model, flat_params(model), [shard], weight=a).updates for a in (0.0, 0.4))
    >>> round(float(np.abs(led - plain).max()), 4)  # lr * weight * cap
    0.008
    """
    if not 0 <= weight < np.inf:
        raise InputError(f"weight must be a finite number of at least 0; got {weight!r}")
    if not 0 < cap <= np.inf:
        raise InputError(f"cap, the largest coordinate of the gradient, must be above 0; got {cap!r}")
    parts = [part for part in model.parameters() if part.requires_grad]

    def train(shard: Shard) -> None:
        places, ways = _copies(parts), list[Tensor]()

        def steer(*_: Any) -> None:
            with torch.no_grad():
                for part, place, way in zip(parts, places, ways, strict=False):
                    kept = 1 - (part - place - way)
                    slope = -kept / torch.linalg.vector_norm(kept).clamp(min=1e-12)
                    part.sub_(slope.clamp(-cap, cap), alpha=lr * weight)
                ways[:] = [part - place for part, place in zip(parts, places, strict=True)]
                places[:] = _copies(parts)

        steps = fresh_optimiser(parts, optimiser=optimiser, lr=lr, momentum=momentum)
        steps.register_step_post_hook(steer)
        take_steps(model, shard, steps)

    return train_each(model, params, shards, train)


def _copies(parts: Sequence[Tensor]) -> list[Tensor]:
    return [part.detach().clone() for part in parts]
