"""SGD for all clients of a round at once: one batched computation in place of many small ones.

Attackers may bend the gradients on their way, and confine how far they stray from the global model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...errors import InputError
from ..lazy_torch import Tensor, functional, nn, torch
from ..models import check_all_trained, named_buffers, named_params
from .schedule import Shard, check_pace

__all__ = ["batched_sgd", "constrained_sgd", "projected_sgd"]


def batched_sgd(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
) -> NDArray[np.float32]:
    """Return the same as `sgd`, up to rounding: every client takes its steps side by side with the others."""
    return _descend(model, params, shards, lr=lr, momentum=momentum)


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
    """Return SGD's updates, projected onto a ball around the global model every `every` steps and at the end.

    PGD of Wang et al., 2020, https://arxiv.org/abs/2007.05084
    """
    check_whole("every", every, at_least=1)
    if not 0 < radius < np.inf:
        raise InputError(f"radius must be a finite number above 0; got {radius!r}")

    def confine(moved: Tensor, step: int, is_last: Tensor) -> Tensor:
        due = is_last | (step % every == 0)
        norms = torch.linalg.vector_norm(moved, dim=1)
        scale = torch.where(due & (norms > radius), radius / norms, 1.0)
        return moved * scale[:, None]

    return _descend(model, params, shards, lr=lr, momentum=momentum, confine=confine)


def constrained_sgd(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
    a: float = 0.9,
) -> NDArray[np.float32]:
    """Return the updates of SGD on a * cross-entropy + (1 - a) * distance to the global params.

    Bagdasaryan et al., 2020, https://arxiv.org/abs/1807.00459, eq. 4. Scaling them up is left to a craft.
    """
    if not 0 < a <= 1:
        raise InputError(f"a, the weight of the cross-entropy, must be in (0, 1]; got {a!r}")

    def bend(gradient: Tensor, moved: Tensor) -> Tensor:
        norms = torch.linalg.vector_norm(moved, dim=1, keepdim=True)
        outwards = torch.where(norms > 0, moved / norms, 0.0)  # the gradient of the distance, 0 at its start
        return a * gradient + (1 - a) * outwards

    return _descend(model, params, shards, lr=lr, momentum=momentum, bend=bend)


def _descend(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float,
    momentum: float,
    bend: Callable[[Tensor, Tensor], Tensor] | None = None,
    confine: Callable[[Tensor, int, Tensor], Tensor] | None = None,
) -> NDArray[np.float32]:
    """Return one update per shard.

    `bend(gradients, moved)` and `confine(moved, step, is_last)` get one row per client that still trains:
    `moved` is its way from the params, `step` counts from 1, `is_last` marks those that end here.
    """
    if named_buffers(model):
        raise InputError(
            f"a network with buffers ({', '.join(list(named_buffers(model))[:2])}, ...) cannot train side by"
            " side with others: train it by sgd"
        )
    check_pace(lr, momentum)
    check_all_trained(model, "training side by side")
    start = torch.from_numpy(params).to(next(model.parameters()).device)
    # Who takes most steps comes first: those still training are then always the first rows.
    order = np.argsort([-len(shard.batches) for shard in shards], kind="stable")
    rows = start.repeat(len(shards), 1)
    velocity = torch.zeros_like(rows) if momentum else None
    gradients = _gradients(model, rows)
    for step, (x, y, shares, is_last) in enumerate(_steps(model, [shards[i] for i in order]), start=1):
        here = rows[: len(y)]
        gradient = gradients(here, x, y, shares)
        if bend is not None:
            gradient = bend(gradient, here - start)
        if velocity is not None:
            gradient = velocity[: len(y)].mul_(momentum).add_(gradient)
        here.sub_(gradient, alpha=lr)
        if confine is not None:
            here.copy_(start + confine(here - start, step, is_last))
    updates = np.empty((len(shards), params.size), dtype=np.float32)
    updates[order] = rows.sub_(start).cpu().numpy()
    return updates


def _gradients(model: nn.Module, rows: Tensor) -> Callable[[Tensor, Tensor, Tensor, Tensor], Tensor]:
    """Return what computes gradients of rows like these, the first ones or all: (rows, x, y, shares)."""
    from ._perceptrons import Perceptrons, layers_of

    layers = layers_of(model)
    return partial(_gradient, model) if layers is None else Perceptrons(layers, rows).gradient


def _gradient(model: nn.Module, rows: Tensor, x: Tensor, y: Tensor, shares: Tensor) -> Tensor:
    """Return each row's gradient of its own loss, the shares-weighted sum over its batch.

    The losses of all are added up: as no row enters another's, one backward pass has all gradients.
    """
    leaves = {name: part.detach().requires_grad_() for name, part in named_params(model, rows).items()}

    def score(named: dict[str, Tensor], batch: Tensor) -> Tensor:
        scores: Tensor = torch.func.functional_call(model, named, (batch,))
        return scores

    scores = torch.func.vmap(score)(leaves, x)
    losses = functional.cross_entropy(scores.flatten(0, 1), y.flatten(), reduction="none")
    gradients = torch.autograd.grad((losses * shares.flatten()).sum(), list(leaves.values()))
    return torch.cat([gradient.flatten(1) for gradient in gradients], dim=1)


def _steps(model: nn.Module, shards: Sequence[Shard]) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
    """Yield for each step, of the clients that take it: examples, labels, their shares, who ends here."""
    x, y = (torch.cat(parts) for parts in zip(*(shard.on(model) for shard in shards), strict=True))
    starts = np.cumsum([0, *(len(shard.y) for shard in shards)])
    n_steps = np.array([len(shard.batches) for shard in shards])
    n_widest = max(shard.batches.shape[1] for shard in shards)
    at = np.full((n_steps.max(), len(shards), n_widest), -1)
    for client, (shard, start) in enumerate(zip(shards, starts, strict=False)):
        own = shard.batches
        at[: len(own), client, : own.shape[1]] = np.where(own >= 0, own + start, -1)
    sizes = (at >= 0).sum(axis=2)
    shares = np.where(at >= 0, 1 / np.maximum(sizes, 1)[:, :, None], 0).astype(np.float32)
    np.maximum(at, 0, out=at)
    for step, size in enumerate(sizes.max(axis=1)):
        n_left = int((n_steps > step).sum())
        places = torch.from_numpy(at[step, :n_left, :size]).to(x.device)
        flat, is_last = places.reshape(-1), torch.from_numpy(n_steps[:n_left] == step + 1).to(x.device)
        yield (
            x.index_select(0, flat).view(*places.shape, *x.shape[1:]),
            y[places],
            torch.from_numpy(shares[step, :n_left, :size]).to(x.device),
            is_last,
        )
