"""A3FL: a trigger that is learned against the model that would unlearn it."""

from __future__ import annotations

import copy
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ..data import Dataset
from ..lazy_torch import Tensor, functional, nn, torch
from ..training.triggers import stamp
from .backdoors import Backdoor
from .learned import Trigger, batch_of, clipped, learned_trigger, span_of

__all__ = ["a3fl"]

Array = NDArray[Any]


def a3fl(
    data: Dataset,
    *,
    target: int = 2,
    size: int = 5,
    margin: int = 2,
    n_steps: int = 100,
    step: float = 0.02,
    weight: float = 0.01,
    every: int = 20,
    n_unlearning: int = 10,
    lr: float = 0.01,
    n_batch: int = 64,
) -> Backdoor:
    """Return the backdoor of a square of pixels, optimised to survive a model that unlearns it.

    A3FL, Zhang et al., 2023, https://openreview.net/forum?id=S6ajVZy6FA. Each of `n_steps` moves the pixels
    by a share `step` of the span, by the gradient's sign, down CE(w, x', t) + weight * s * CE(w', x', t).
    Every `every` steps, w' is the global model w after `n_unlearning` more steps on stamped examples with
    their true labels, and s is the cosine similarity of the parameters of both. The published code takes that
    of gradients left over in the two networks, and trains w' for five epochs before each pass over the data.

    >>> from holdfast.lab.data import digits
    >>> a3fl(digits(), size=2, margin=0).challenge[0, 0, :3, :2]
    array([[0.5, 0.5],
           [0.5, 0.5],
           [0. , 0. ]], dtype=float32)
    """
    low, high = span_of(data)
    counts = {"size": size, "n_steps": n_steps, "every": every, "n_unlearning": n_unlearning}
    for name, count in {**counts, "n_batch": n_batch}.items():
        check_whole(name, count, at_least=1)
    check_whole("margin", margin, at_least=0, at_most=min(data.x_train.shape[2:]) - size)
    mask = np.zeros((1, *data.x_train.shape[2:]), np.float32)
    mask[:, margin : margin + size, margin : margin + size] = 1

    def put(x: Array, trigger: Trigger, attacker: int | None) -> Array:
        return stamp(x, mask, trigger["pattern"])

    def learn(model: nn.Module, x: Tensor, y: Tensor, trigger: Trigger, rng: np.random.Generator) -> Trigger:
        where, pattern = (torch.tensor(part, device=x.device) for part in (mask, trigger["pattern"]))
        goal = torch.full((n_batch,), target, device=x.device)
        model.eval()
        for number in range(n_steps):
            if number % every == 0:
                show = partial(stamp, mask=where, pattern=pattern)
                wiser = _unlearned(model, x, y, show, n_steps=n_unlearning, lr=lr, n_batch=n_batch, rng=rng)
                similarity = _similarity(model, wiser)
            pattern.requires_grad_()
            marked = stamp(x[batch_of(len(x), n_batch, rng)], where, pattern)
            losses = (functional.cross_entropy(each(marked), goal) for each in (model, wiser))
            (slope,) = torch.autograd.grad(next(losses) + weight * similarity * next(losses), pattern)
            moved = pattern.detach() - step * torch.tensor(high - low, device=x.device) * slope.sign()
            pattern = clipped(moved, (low, high))
        return {"pattern": pattern.cpu().numpy()}

    start = np.broadcast_to((low + high) / 2, data.x_train.shape[1:]).copy()
    return learned_trigger(data, target=target, start={"pattern": start}, put=put, learn=learn)


def _unlearned(
    model: nn.Module,
    x: Tensor,
    y: Tensor,
    show: Callable[[Tensor], Tensor],
    *,
    n_steps: int,
    lr: float,
    n_batch: int,
    rng: np.random.Generator,
) -> nn.Module:
    """Return the model after some steps on examples that show the trigger, with their true labels."""
    wiser = copy.deepcopy(model).train()
    steps = torch.optim.SGD(wiser.parameters(), lr=lr, momentum=0.9)
    for _ in range(n_steps):
        at = batch_of(len(x), n_batch, rng)
        steps.zero_grad()
        functional.cross_entropy(wiser(show(x[at])), y[at]).backward()  # type: ignore[no-untyped-call]
        steps.step()
    return wiser.eval()


def _similarity(first: nn.Module, second: nn.Module) -> float:
    """Return the cosine similarity of two networks' parameters."""
    one, other = (torch.cat([p.detach().flatten() for p in net.parameters()]) for net in (first, second))
    return float(functional.cosine_similarity(one, other, dim=0))
