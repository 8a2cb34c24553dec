"""Training that keeps an attacker's model near the one it would have if it were honest."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..lazy_torch import Tensor, functional, nn, torch
from ..models import flat_params, load_params, named_buffers
from .local import Optimiser, cross_entropy, fresh_optimiser, take_steps, train_each
from .schedule import FEW, Shard, Trained, trains_on_one

__all__ = ["cerberus", "soda"]


def soda(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
    optimiser: Optimiser = "sgd",
    distance: float = 0.1,
    direction: float = 100.0,
) -> Trained:
    """Return the updates of training that stays near the attacker's own honest model, and in its direction.

    SoDa, Xu et al., 2025, https://arxiv.org/abs/2509.13219: cross-entropy + distance * |w - b| + direction *
    (1 - cos(w, b)). Each attacker first trains on those of its examples that are not poisoned; the parameters
    that come of it are b. Both weights are as published.

    >>> from holdfast.lab.models import flat_params, mlp
    >>> x, y, batches = np.eye(4, 2, dtype=np.float32), np.array([0, 0, 1, 1]), np.array([[0, 1], [2, 3]] * 9)
    >>> shard = Shard(x, y, batches, poisoned=np.array([False, False, True, True]))
    >>> model = mlp(sizes=(2, 2))
    >>> free, near = (
    ...     soda(model, flat_params(model), [shard], distance=weight).updates for weight in (0.0, 10.0)
    ... )
    >>> bool(abs(free - near).max() > 0.01)
    True
    """
    fresh = partial(_fresh, model, lr=lr, momentum=momentum, optimiser=optimiser)
    return _near_benign(model, params, shards, fresh, distance=distance, direction=direction)


def cerberus(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
    optimiser: Optimiser = "sgd",
    distance: float = 0.1,
) -> Trained:
    """Return the updates of training that stays near the attacker's own honest model.

    Cerberus, Lyu et al., 2023, https://doi.org/10.1609/aaai.v37i7.26083: cross-entropy + distance * |w - b|,
    b as for `soda`. Its third term, the cosines between the attackers' updates, is left to the craft
    `decorrelate`, as attackers train apart. Its trigger is `tuned_trigger`.

    >>> from holdfast.lab.models import build_network, flat_params, mlp
    >>> x, y, batches = np.ones((4, 2), np.float32), np.array([0, 0, 1, 1]), np.array([[0, 2], [1, 3]] * 9)
    >>> shard = Shard(x, y, batches, poisoned=y == 1)
    >>> model = build_network(partial(mlp, sizes=(2, 2)), seed=0)
    >>> honest, free, near = (
    ...     cerberus(model, flat_params(model), [some], distance=weight).updates
    ...     for some, weight in ((_clean(shard)._replace(poisoned=None), 0.0), (shard, 0.0), (shard, 1.0))
    ... )
    >>> bool(np.linalg.norm(near - honest) < 0.5 * np.linalg.norm(free - honest))
    True
    """
    fresh = partial(_fresh, model, lr=lr, momentum=momentum, optimiser=optimiser)
    return _near_benign(model, params, shards, fresh, distance=distance, direction=0.0)


def _fresh(model: nn.Module, **settings: Any) -> torch.optim.Optimizer:
    return fresh_optimiser(model.parameters(), **settings)


def _near_benign(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    fresh: Callable[[], torch.optim.Optimizer],
    *,
    distance: float,
    direction: float,
) -> Trained:
    """Return the updates of training that pays for the way from what honest training leads to."""
    if not 0 <= distance < np.inf or not 0 <= direction < np.inf:
        raise InputError(
            f"distance and direction, weights, must be finite numbers of at least 0; got {distance!r}"
            f" and {direction!r}"
        )
    before = named_buffers(model)

    def train(shard: Shard) -> None:
        clean = _clean(shard)
        if shard.poisoned is not None and not trains_on_one(model, shard.on(model)[0]):
            clean = _joined(clean)
        take_steps(model, clean, fresh())
        if shard.poisoned is None or not shard.poisoned.any():
            return  # an honest client, or an attacker who rehearses being one
        benign = torch.from_numpy(flat_params(model)).to(next(model.parameters()).device)
        load_params(model, params, before)

        def loss(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
            here = torch.nn.utils.parameters_to_vector(model.parameters())
            away: Tensor = torch.linalg.vector_norm(here - benign)
            turned = 1 - functional.cosine_similarity(here, benign, dim=0)
            return cross_entropy(model, x, y) + distance * away + direction * turned

        take_steps(model, shard, fresh(), loss)

    return train_each(model, params, shards, train)


def _clean(shard: Shard) -> Shard:
    """Return the shard without its poisoned examples, and without the batches that had no others."""
    if shard.poisoned is None:
        return shard
    batches = np.where(shard.poisoned[shard.batches], -1, shard.batches)
    return shard._replace(batches=batches[(batches >= 0).any(axis=1)])


def _joined(shard: Shard) -> Shard:
    """Return the shard with batches of fewer than `FEW` examples joined to those beside them.

    A few are never enough by themselves for a network that normalises over the batch. Where there are not so
    many in all, they are one batch, of two at least.
    """
    parts: list[NDArray[np.intp]] = []
    for batch in shard.batches:
        own = batch[batch >= 0]
        if parts and len(parts[-1]) < FEW:
            parts[-1] = np.concatenate([parts[-1], own])
        else:
            parts.append(own)
    if len(parts) > 1 and len(parts[-1]) < FEW:
        parts[-2:] = [np.concatenate(parts[-2:])]
    if len(parts) == 1:
        parts[0] = np.resize(parts[0], max(2, len(parts[0])))
    batches = np.full((len(parts), max(map(len, parts), default=0)), -1)
    for row, part in zip(batches, parts, strict=True):
        row[: len(part)] = part
    return shard._replace(batches=batches)
