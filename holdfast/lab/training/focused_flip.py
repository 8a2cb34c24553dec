"""Training that begins with a trigger put into the weights that matter least, by turning their signs."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..lazy_torch import Tensor, functional, nn, torch
from ..models import named_params
from .local import Optimiser, fresh_optimiser, take_steps, train_each
from .schedule import Shard, Trained

__all__ = ["f3ba"]

N_SHOWN = 256  # of an attacker's poisoned examples, and of its clean ones, that show how they differ


def f3ba(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
    optimiser: Optimiser = "sgd",
    share: float = 0.02,
    previous: NDArray[np.float32] | None = None,
) -> Trained:
    """Return the updates of training from a model in which the least important weights fit the trigger.

    Focused-Flip, Fang and Chen, 2023, https://arxiv.org/abs/2301.08170. A weight's importance is what the
    last global update moved it away from zero by, times its size. Layer by layer, in convolutions and in all
    linear layers but the last, those of the lowest `share` get the sign of what poisoned examples, in the
    mean, have more of than clean ones where they enter the layer. In the first round there is no last update,
    and nothing is flipped.

    The paper also learns the trigger, which is left to the backdoor here. Its code scales a trigger to the
    size of a kernel; here a kernel fits the patch in which both kinds of examples differ most, and one share
    is for layers of both kinds.

    >>> from holdfast.lab.models import mlp
    >>> x, y = np.array([[0, 0], [1, -1]], np.float32), np.zeros(2, np.int64)
    >>> shard = Shard(x, y, np.array([[0, 1]]), poisoned=np.array([False, True]))
    >>> ones = np.ones(12, np.float32)
    >>> f3ba(mlp(sizes=(2, 2, 2)), ones, [shard], lr=0.0, share=1.0, previous=ones).updates[0, :4]
    array([ 0., -2.,  0., -2.], dtype=float32)
    """
    if not 0 < share <= 1:
        raise InputError(f"share, of a layer's weights, must be in (0, 1]; got {share!r}")
    layers = _layers(model)

    def train(shard: Shard) -> None:
        if previous is not None and shard.poisoned is not None and 0 < shard.poisoned.sum() < len(shard.y):
            importance = named_params(model, torch.from_numpy(previous * params))
            for name, layer in layers.items():
                excess = _excess(model, layer, shard)
                if excess is not None:
                    _flip(layer, importance[f"{name}.weight"], excess, share)
        steps = fresh_optimiser(model.parameters(), optimiser=optimiser, lr=lr, momentum=momentum)
        take_steps(model, shard, steps)

    return train_each(model, params, shards, train)


def _layers(model: nn.Module) -> dict[str, nn.Conv2d | nn.Linear]:
    """Return the layers in which signs are turned."""
    found = {name: layer for name, layer in model.named_modules() if isinstance(layer, nn.Conv2d | nn.Linear)}
    last = [name for name, layer in found.items() if isinstance(layer, nn.Linear)][-1:]
    layers = {name: layer for name, layer in found.items() if name not in last}
    if not layers:
        raise InputError(
            "f3ba turns signs in convolutions (Conv2d) and in linear layers before the last one (Linear);"
            f" {type(model).__name__} has neither: attack it in another way"
        )
    return layers


def _flip(layer: nn.Conv2d | nn.Linear, importance: Tensor, excess: Tensor, share: float) -> None:
    """Turn those of the least important weights whose sign is not that of the excess."""
    weight = layer.weight
    order = torch.argsort(importance.reshape(-1).to(weight.device), stable=True)
    least = torch.zeros(weight.numel(), dtype=torch.bool, device=weight.device)
    least[order[: int(share * weight.numel())]] = True
    with torch.no_grad():
        wrong = least.view_as(weight) & (weight * _as_weights(layer, excess) < 0)
        weight[wrong] *= -1


def _as_weights(layer: nn.Conv2d | nn.Linear, excess: Tensor) -> Tensor:
    """Return what would respond most to the excess of a layer's input, in the shape of its weights."""
    if isinstance(layer, nn.Linear):
        return excess.expand_as(layer.weight)
    patches = functional.unfold(
        excess[None], layer.kernel_size, dilation=layer.dilation, padding=_padding(layer), stride=layer.stride
    )[0]
    patch = patches[:, torch.linalg.vector_norm(patches, dim=0).argmax()]
    n_outputs = layer.out_channels // layer.groups
    return patch.view(layer.groups, 1, -1).expand(-1, n_outputs, -1).reshape(layer.weight.shape)


def _padding(layer: nn.Conv2d) -> tuple[int, ...]:
    """Return the zeros around an image, where torch allows words for them too."""
    if not isinstance(layer.padding, str):
        return tuple(layer.padding)
    both = zip(layer.dilation, layer.kernel_size, strict=True)
    return tuple(wide * (size - 1) // 2 if layer.padding == "same" else 0 for wide, size in both)


def _excess(model: nn.Module, layer: nn.Module, shard: Shard) -> Tensor | None:
    """Return what poisoned examples, in the mean, have more of than clean ones where they enter a layer.

    Nothing enters a layer that the network does not use.
    """
    x, _ = shard.on(model)
    poisoned = torch.from_numpy(np.asarray(shard.poisoned)).to(x.device)
    entered: list[Tensor] = []
    hook = layer.register_forward_pre_hook(lambda _, inputs: entered.append(inputs[0]))
    model.eval()
    try:
        with torch.no_grad():
            for own in (poisoned, ~poisoned):
                model(x[own][:N_SHOWN])
    finally:
        hook.remove()
    if not entered:
        return None
    is_linear = isinstance(layer, nn.Linear)
    bad, clean = (
        (part.flatten(0, -2) if is_linear else part).mean(dim=0) for part in entered[:: len(entered) // 2]
    )
    return bad - clean
