"""Training of an encoder by contrast and then of its head, for backdoors that last."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..lazy_torch import Tensor, functional, nn, torch
from .local import Optimiser, fresh_optimiser, take_steps, train_each
from .schedule import Shard, Trained

__all__ = ["chameleon", "contrastive_loss", "features", "split_network"]


def chameleon(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
    optimiser: Optimiser = "sgd",
    encoder_pace: float = 0.3,
    temperature: float = 0.07,
    target_weight: float = 2.0,
) -> Trained:
    """Return the updates of training the encoder with a supervised contrastive loss, and then the head.

    Chameleon, Dai and Li, 2023, https://arxiv.org/abs/2304.12961. The head is the network's last linear
    layer, the encoder all before it. A first pass over the batches, at `encoder_pace` times the learning
    rate, draws features of examples with one label together and all others apart; labels of the target, which
    poisoned examples have, count `target_weight` times. In a second pass the encoder rests, its buffers too,
    and the head learns by cross-entropy. An attacker without poisoned examples trains like everybody.

    The published code takes ten passes and three, at falling rates, and projects onto a ball around the
    global model. Here each phase takes a client's own steps, and there is no ball.

    >>> from holdfast.lab.models import flat_params, mlp
    >>> x, y = np.eye(4, dtype=np.float32), np.array([0, 0, 1, 1])
    >>> shard = Shard(x, y, np.array([[0, 1, 2, 3]]), poisoned=np.array([True, False, False, False]))
    >>> model = mlp(sizes=(4, 3, 2))
    >>> chameleon(model, flat_params(model), [shard]).updates.shape
    (1, 23)
    """
    for name, number in (("encoder_pace", encoder_pace), ("temperature", temperature)):
        if not 0 < number < np.inf:
            raise InputError(f"{name} must be a finite number above 0; got {number!r}")
    if not 0 <= target_weight < np.inf:
        raise InputError(f"target_weight must be a finite number of at least 0; got {target_weight!r}")
    head, encoder = split_network(model)

    fresh = partial(fresh_optimiser, optimiser=optimiser, momentum=momentum)

    def train(shard: Shard) -> None:
        if shard.poisoned is None or not shard.poisoned.any():
            take_steps(model, shard, fresh(model.parameters(), lr=lr))
            return
        target = int(shard.y[shard.poisoned][0])

        def contrast(model: nn.Module, x: Tensor, y: Tensor) -> Tensor:
            weights = torch.where(y == target, target_weight, 1.0)
            return contrastive_loss(features(model, head, x), y, weights, temperature=temperature)

        take_steps(model, shard, fresh(encoder, lr=encoder_pace * lr), contrast)
        with torch.no_grad():
            seen = shard._replace(x=features(model.eval(), head, shard.on(model)[0]))
        take_steps(head, seen, fresh(head.parameters(), lr=lr))

    return train_each(model, params, shards, train)


def split_network(model: nn.Module) -> tuple[nn.Linear, list[nn.Parameter]]:
    """Return the network's last linear layer, its head, and the parameters of its encoder, all others."""
    head = next((layer for layer in reversed(list(model.modules())) if isinstance(layer, nn.Linear)), None)
    own = set() if head is None else set(head.parameters())
    encoder = [part for part in model.parameters() if part.requires_grad and part not in own]
    if head is None or not encoder:
        raise InputError(
            "chameleon needs a network that ends in a linear layer (Linear), with an encoder before it;"
            f" {type(model).__name__} has {'no linear layer' if head is None else 'no encoder to train'}"
        )
    return head, encoder


def features(model: nn.Module, head: nn.Linear, x: Tensor) -> Tensor:
    """Return what enters the head for these examples, one row each."""
    entered: list[Tensor] = []
    hook = head.register_forward_pre_hook(lambda _, inputs: entered.append(inputs[0]))
    try:
        scores = model(x)
    finally:
        hook.remove()
    if [part.shape[:-1] for part in entered] != [x.shape[:1]] or scores.shape[-1] != head.out_features:
        raise InputError(
            "chameleon needs a network whose last linear layer takes one row per example, and gives its"
            f" scores; in {type(model).__name__}, {len(x)} examples enter {head} as"
            f" {[tuple(part.shape) for part in entered]}, and have scores of the shape {tuple(scores.shape)}"
        )
    return entered[0]


def contrastive_loss(features: Tensor, y: Tensor, weights: Tensor, *, temperature: float) -> Tensor:
    """Return how far examples of one label are from each other, compared with all others.

    The supervised contrastive loss of Khosla et al., 2020, https://arxiv.org/abs/2004.11362, weighted by
    example. One that is alone with its label counts as 0.
    """
    directions = functional.normalize(features, dim=1, eps=1e-6)
    itself = torch.eye(len(y), dtype=torch.bool, device=y.device)
    alike = (directions @ directions.T / temperature).masked_fill(itself, -torch.inf)
    fellows = (y[:, None] == y) & ~itself
    likely = torch.where(fellows, alike.log_softmax(dim=1), 0.0).sum(dim=1) / fellows.sum(dim=1).clamp(min=1)
    return -(weights * likely).mean()
