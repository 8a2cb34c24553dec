"""The server pushes back: after each round it trains the new model itself, on examples that it trusts.

No honest client undoes a backdoor that lies where honest data says nothing. What such training adds is cut to
a share of how far the model moved in the round, so that it answers the clients and does not replace them.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...errors import InputError
from ..lazy_torch import Tensor, functional, nn, torch
from .local import Optimiser, fresh_optimiser, take_steps, train_each
from .schedule import Shard, Trained
from .triggers import Span, as_tensors

__all__ = ["csft", "flood"]


def csft(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    previous: NDArray[np.float32],
    lr: float = 0.1,
    optimiser: Optimiser = "sgd",
    peak: float = 5.0,
    n_cycles: int = 2,
    share: float = 0.5,
) -> Trained:
    """Return what training at a rate that rises and falls adds, cut to a share of the round's own step.

    Clipped super-fine-tuning, after "Hammer and Anvil", Fenaux et al., 2025,
    https://arxiv.org/abs/2509.08089. The rate goes from `lr` to `peak` times it and back, `n_cycles` times: a
    large rate shakes out what sits loosely, a small one repairs the rest. Here the server trains, on its root
    examples and without momentum, and what all steps add is at most `share` as long as the last global
    update.

    >>> from holdfast.lab.models import flat_params, mlp
    >>> shard = Shard(np.ones((4, 2), np.float32), np.zeros(4, np.int64), np.array([[0, 1], [2, 3]]))
    >>> _ = torch.manual_seed(0)
    >>> model = mlp(sizes=(2, 2))
    >>> tuned = csft(model, flat_params(model), [shard], previous=np.full(6, 0.1, np.float32))
    >>> round(float(np.linalg.norm(tuned.updates)), 4)
    0.1225
    """
    check_whole("n_cycles", n_cycles, at_least=1)
    if not 1 <= peak < np.inf:
        raise InputError(f"peak, how many times lr the rate rises to, must be at least 1; got {peak!r}")

    def train(shard: Shard) -> None:
        steps = fresh_optimiser(model.parameters(), optimiser=optimiser, lr=lr, momentum=0.0)
        heights = triangle(len(shard.batches), n_cycles)
        rates = torch.optim.lr_scheduler.LambdaLR(steps, lambda step: 1 + (peak - 1) * float(heights[step]))
        steps.register_step_post_hook(lambda *_: rates.step())
        take_steps(model, shard, steps)

    return _cut(train_each(model, params, shards, train), previous, share)


def flood(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    previous: NDArray[np.float32],
    span: Span,
    lr: float = 0.1,
    share: float = 0.5,
) -> Trained:
    """Return what training on random inputs with random labels adds, where it does not hurt the task.

    After TrojanDam, Dai et al., 2025, https://arxiv.org/abs/2504.15674. A backdoor uses what of the network
    the task leaves idle; labels drawn afresh each round keep that busy. Each batch of root examples comes
    with as many inputs drawn evenly from the span of the data. Where a step for them would raise the loss of
    the root examples, that part of its direction is taken out. What all steps add is at most `share` as long
    as the last global update. The paper has foreign images, and projects kernel by kernel; here one
    projection is for all parameters. Normalisation layers keep their statistics.
    """
    parts = [part for part in model.parameters() if part.requires_grad]

    def slope(x: Tensor, y: Tensor) -> Tensor:
        loss = functional.cross_entropy(model(x), y)
        return nn.utils.parameters_to_vector(torch.autograd.grad(loss, parts))

    def train(shard: Shard) -> None:
        x, y, (low, high) = as_tensors(model, shard, span)
        generator = torch.Generator().manual_seed(shard.seed)
        model.eval()
        with torch.no_grad():
            n_classes = model(x[:1]).shape[1]
        for batch in shard.batches:
            own = torch.from_numpy(batch[batch >= 0]).to(x.device)
            drawn = torch.rand(x[own].shape, generator=generator).to(x.device)
            labels = torch.randint(n_classes, y[own].shape, generator=generator).to(x.device)
            step = harmless(slope(low + (high - low) * drawn, labels), slope(x[own], y[own]))
            nn.utils.vector_to_parameters(nn.utils.parameters_to_vector(parts).detach() - lr * step, parts)

    return _cut(train_each(model, params, shards, train), previous, share)


def triangle(n_steps: int, n_cycles: int) -> NDArray[np.float64]:
    """Return for each step, and once more, the height of a curve that goes from 0 to 1 and back in cycles.

    >>> triangle(4, 1).tolist()
    [0.0, 0.5, 1.0, 0.5, 0.0]
    """
    turns = np.linspace(0, n_cycles, n_steps + 1) % 1
    return np.asarray(1 - np.abs(2 * turns - 1))


def harmless(wanted: Tensor, guarded: Tensor) -> Tensor:
    """Return the wanted gradient without what would raise the loss whose gradient is guarded.

    >>> harmless(torch.tensor([-1.0, 1.0]), torch.tensor([2.0, 0.0])).tolist()
    [0.0, 1.0]
    """
    against = (wanted @ guarded).clamp(max=0) / (guarded @ guarded).clamp(min=1e-30)
    return wanted - against * guarded


def _cut(trained: Trained, previous: NDArray[np.float32], share: float) -> Trained:
    """Return what was trained, each update at most a share as long as the last global one."""
    if not 0 < share <= 1:
        raise InputError(f"share, of the length of the last global update, must be in (0, 1]; got {share!r}")
    lengths = np.linalg.norm(trained.updates.astype(np.float64), axis=1, keepdims=True)
    if not np.isfinite(lengths).all():
        raise InputError("the server's own training ran away from its model: set a smaller lr or peak")
    limit = share * np.linalg.norm(previous.astype(np.float64))
    factors = np.minimum(1.0, limit / np.maximum(lengths, 1e-30))
    return trained._replace(updates=(factors * trained.updates).astype(np.float32))
