"""Backdoors whose trigger is learned: attackers fit it to the global model, round after round.

A trigger is arrays by name, what `Backdoor.learn` returns, and a way to put it on examples.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...errors import InputError
from ..data import Dataset
from ..lazy_torch import Tensor, nn, torch
from .backdoors import Backdoor, check_labels, drawn, drawn_labels

__all__ = ["Trigger", "batch_of", "clipped", "learned_trigger", "span_of"]

Array = NDArray[Any]
Trigger = Mapping[str, Array]


def learned_trigger(
    data: Dataset,
    *,
    target: int,
    start: Trigger,
    put: Callable[[Array, Trigger, int | None], Array],
    learn: Callable[[nn.Module, Tensor, Tensor, Trigger, np.random.Generator], Trigger],
) -> Backdoor:
    """Return the backdoor of a trigger that begins as `start`.

    `put(x, trigger, attacker)` returns examples with what an attacker shows of the trigger, or with all of it
    where the attacker is None: the challenge, which leaves out the examples that are of the target's class.
    """
    check_labels(data, target)
    others = data.x_test[data.y_test != target]

    def resume(model: nn.Module, x: Tensor, y: Tensor, kept: Trigger | None, rng: Any) -> Trigger:
        trigger = start if kept is None else kept
        return learn(model, x, y, trigger, rng) if len(x) else trigger

    def armed(trigger: Trigger) -> Backdoor:
        def poison(x: Array, y: Array, count: int, attacker: int, rng: np.random.Generator) -> Array:
            return put(drawn(x, count, rng), trigger, attacker)

        return Backdoor(
            target,
            poison,
            put(others, trigger, None),
            moves=False,
            learn=resume,
            armed=armed,
            truth=drawn_labels,
        )

    return armed(start)


def span_of(data: Dataset) -> tuple[Array, Array]:
    """Return the lowest and the highest values of images, by channel."""
    if data.span is None or data.x_train.ndim != 4:
        raise InputError(
            f"a learned trigger needs images, (n, channels, height, width); examples have shape"
            f" {data.x_train.shape[1:]}"
        )
    return data.span


def clipped(x: Tensor, span: tuple[Array, Array]) -> Tensor:
    """Return images within their span."""
    low, high = (torch.tensor(bound, device=x.device) for bound in span)
    return torch.minimum(torch.maximum(x, low), high)


def batch_of(n_examples: int, n_batch: int, rng: np.random.Generator) -> Tensor:
    """Return random positions, as many as asked for; some twice where there are fewer examples."""
    return torch.from_numpy(np.resize(rng.permutation(n_examples), n_batch))
