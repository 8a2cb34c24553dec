"""Training for what is left of a backdoor after the rounds to come."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ..lazy_torch import Tensor, functional, nn, torch
from ..models import named_params
from .local import Optimiser, fresh_optimiser, take_steps, train_each
from .schedule import Shard, Trained

__all__ = ["anticipate", "rounds_ahead"]


def anticipate(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
    optimiser: Optimiser = "sgd",
    n_clients: int = 10,
    n_ahead: int = 3,
    n_local: int = 2,
) -> Trained:
    """Return the updates that do best after the rounds to come, which the attacker plays through.

    Wen et al., 2022, https://arxiv.org/abs/2210.09305. The loss is the mean of the cross-entropies after each
    of `n_ahead` rounds of averaging, differentiated through all of them. In the first, the attacker's model
    is one of `n_clients`; in later ones, all are honest. The attacker's clean examples stand for everybody's:
    an honest client takes `n_local` steps of SGD on some of them.

    The gradient is taken `n_clients` times, so that the attacker's own model moves at its learning rate; the
    published code scales the update up afterwards. Batch norms keep the statistics of the global model. An
    attacker without poisoned examples, or without clean ones, trains like everybody.
    """
    for name, count in (("n_clients", n_clients), ("n_ahead", n_ahead), ("n_local", n_local)):
        check_whole(name, count, at_least=1)
    start = torch.from_numpy(params).to(next(model.parameters()).device)
    fresh = partial(fresh_optimiser, optimiser=optimiser, lr=lr, momentum=momentum)

    def train(shard: Shard) -> None:
        if shard.poisoned is None or not 0 < shard.poisoned.sum() < len(shard.y):
            take_steps(model, shard, fresh(model.parameters()))
            return
        model.eval()
        (x, y), rng = shard.on(model), np.random.default_rng(shard.seed)
        clean, n_shown = np.flatnonzero(~shard.poisoned), shard.batches.shape[1]

        def loss(at: Tensor, positions: NDArray[np.intp]) -> Tensor:
            there = torch.from_numpy(positions).to(x.device)
            scores = torch.func.functional_call(model, named_params(model, at), (x[there],))
            return functional.cross_entropy(scores, y[there])

        def honest(at: Tensor) -> Tensor:
            goes_on = not at.is_leaf  # no graph is needed of what the attacker's model has no part in
            for _ in range(n_local):
                shown = rng.permutation(clean)[:n_shown]
                (gradient,) = torch.autograd.grad(loss(at, shown), at, create_graph=goes_on)
                at = at - lr * gradient
            return at

        own = nn.Parameter(start.clone())
        steps = fresh([own])
        for batch in shard.batches:
            models = rounds_ahead(start, own, honest, n_clients=n_clients, n_ahead=n_ahead)
            after = [loss(at, batch[batch >= 0]) for at in models]
            steps.zero_grad()
            (n_clients * torch.stack(after).mean()).backward()  # type: ignore[no-untyped-call]
            steps.step()
        torch.nn.utils.vector_to_parameters(own.detach(), model.parameters())

    return train_each(model, params, shards, train)


def rounds_ahead(
    start: Tensor, own: Tensor, honest: Callable[[Tensor], Tensor], *, n_clients: int, n_ahead: int
) -> Iterator[Tensor]:
    """Yield the global models of the rounds to come; in the first, one of the clients sends its `own`."""
    others = honest(start.detach().requires_grad_()).detach()
    at = (own + (n_clients - 1) * others) / n_clients
    yield at
    for _ in range(n_ahead - 1):
        at = honest(at)
        yield at
