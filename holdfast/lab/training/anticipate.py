"""Training for what is left of a backdoor after the rounds to come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ..lazy_torch import Tensor, functional, nn, torch
from ..models import check_all_trained, named_params
from .local import Optimiser, fresh_optimiser, take_steps, train_each
from .schedule import Shard, Trained

__all__ = ["anticipate"]


def anticipate(
    model: nn.Module,
    params: NDArray[np.float32],
    shards: Sequence[Shard],
    *,
    lr: float = 0.1,
    momentum: float = 0.0,
    optimiser: Optimiser = "sgd",
    n_clients: int = 10,
    n_ahead: int = 2,
    n_local: int = 2,
) -> Trained:
    """Return the updates that do best after the next rounds, which the attacker simulates.

    Wen et al., 2022, https://arxiv.org/abs/2210.09305. The loss is the mean of the cross-entropies after each
    of `n_ahead` rounds of averaging, differentiated through all of them. In the first, the attacker's model
    is one of `n_clients`; in later ones, all are honest. The attacker's clean examples stand for everybody's:
    an honest client takes `n_local` steps of SGD on some of them.

    The gradient is taken `n_clients` times, so that the attacker's own model moves at its learning rate; the
    published code scales the update up afterwards. Batch norms keep the statistics of the global model. An
    attacker without poisoned examples, or without clean ones, trains like everybody.

    >>> from holdfast.lab.models import flat_params, mlp
    >>> from holdfast.lab.training import sgd
    >>> x, y = np.eye(4, dtype=np.float32), np.array([0, 0, 1, 1])
    >>> shard = Shard(x, y, np.array([[0, 1, 2, 3]]), poisoned=np.array([True, False, False, False]))
    >>> model = mlp(sizes=(4, 3, 2))
    >>> alone = anticipate(model, flat_params(model), [shard], n_clients=1, n_ahead=1).updates
    >>> np.allclose(alone, sgd(model, flat_params(model), [shard]).updates, atol=1e-6)
    True
    """
    for name, count in (("n_clients", n_clients), ("n_ahead", n_ahead), ("n_local", n_local)):
        check_whole(name, count, at_least=1)
    check_all_trained(model, "anticipate")
    fresh = partial(fresh_optimiser, optimiser=optimiser, lr=lr, momentum=momentum)

    def train(shard: Shard) -> None:
        if shard.poisoned is None or not 0 < shard.poisoned.sum() < len(shard.y):
            take_steps(model, shard, fresh(model.parameters()))
            return
        play = _Play(model.eval(), shard, lr=lr, n_local=n_local)
        start = torch.nn.utils.parameters_to_vector(model.parameters()).detach()
        own = nn.Parameter(start.clone())
        steps = fresh([own])
        for batch in shard.batches:
            models = play.rounds(start, own, n_clients=n_clients, n_ahead=n_ahead)
            after = [play.loss(at, batch[batch >= 0]) for at in models]
            steps.zero_grad()
            (n_clients * torch.stack(after).mean()).backward()  # type: ignore[no-untyped-call]
            steps.step()
        torch.nn.utils.vector_to_parameters(own.detach(), model.parameters())

    return train_each(model, params, shards, train)


class _Play:
    """The rounds to come, as an attacker plays them through with its clean examples."""

    def __init__(self, model: nn.Module, shard: Shard, *, lr: float, n_local: int) -> None:
        self.model, self.lr, self.n_local = model, lr, n_local
        (self.x, self.y), self.rng = shard.on(model), np.random.default_rng(shard.seed)
        self.clean, self.n_shown = np.flatnonzero(~np.asarray(shard.poisoned)), shard.batches.shape[1]

    def rounds(self, start: Tensor, own: Tensor, *, n_clients: int, n_ahead: int) -> Iterator[Tensor]:
        """Yield the global models of the rounds to come; in the first, one of the clients sends its own."""
        others = self.honest(start.detach().requires_grad_()).detach()
        at = (own + (n_clients - 1) * others) / n_clients
        yield at
        for _ in range(n_ahead - 1):
            at = self.honest(at)
            yield at

    def honest(self, at: Tensor) -> Tensor:
        """Return what honest clients make of a model."""
        is_attacked = not at.is_leaf  # nothing leads back to the attacker's model otherwise
        for _ in range(self.n_local):
            shown = self.rng.permutation(self.clean)[: self.n_shown]
            (gradient,) = torch.autograd.grad(self.loss(at, shown), at, create_graph=is_attacked)
            at = at - self.lr * gradient
        return at

    def loss(self, at: Tensor, positions: NDArray[np.intp]) -> Tensor:
        """Return the cross-entropy of a model on these examples."""
        there = torch.from_numpy(positions).to(self.x.device)
        scores = torch.func.functional_call(self.model, named_params(self.model, at), (self.x[there],))
        return functional.cross_entropy(scores, self.y[there])
