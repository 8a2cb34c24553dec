"""What a client trains on, drawn beforehand so that all ways to train see the same; and what it returns."""

from __future__ import annotations

import copy
import math
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import check_whole
from ...aggregators.settings import check_positive
from ...errors import InputError
from ..lazy_torch import Tensor, nn, torch

__all__ = ["FEW", "Kept", "Shard", "Trained", "check_pace", "n_steps_of", "schedule", "trains_on_one"]

#: From so many examples on, a batch that a BatchNorm sees one number of each is one among others: from a
#: trained ResNet-18, a last batch of two makes a client's update 170 times as long, one of three three times.
FEW = 8

Array = NDArray[Any]
Kept = Mapping[str, Array]  # what a client's training keeps for its next round


class Shard(NamedTuple):
    """A client's examples in a round, and the order in which it sees them: one row of positions per step.

    A row ends in -1 where a batch is not full. `seed` is for whatever else its training draws, `memory` what
    its training kept in an earlier round, `poisoned` says which of an attacker's examples are poisoned.
    """

    x: Any  # arrays, or tensors on the device
    y: Any
    batches: NDArray[np.intp]
    seed: int = 0
    memory: Kept | None = None
    poisoned: NDArray[np.bool_] | None = None

    def on(self, model: nn.Module) -> tuple[Tensor, Tensor]:
        """Return the examples and their labels as tensors where the network is."""
        device = next(model.parameters()).device
        return torch.as_tensor(self.x, device=device), torch.as_tensor(self.y, device=device)


class Trained(NamedTuple):
    """What training returns: one update per client, and where there are any, its buffers and what it keeps.

    A way to train that has neither may return the updates alone.
    """

    updates: NDArray[np.float32]
    buffers: tuple[Mapping[str, Array], ...] = ()
    memory: tuple[Kept | None, ...] = ()


def trains_on_one(model: nn.Module, x: Tensor) -> bool:
    """Return whether a network can train on a single example, which a BatchNorm of one number each cannot.

    Two numbers look the same to it whatever they are, and its gradient is then many times too long.
    """
    copied = copy.deepcopy(model).train()
    try:
        with torch.no_grad():
            copied(x[:1])
    except ValueError:
        return False
    return True


def check_pace(lr: float, momentum: float = 0.0) -> None:
    """Raise for a pace at which nothing could be learned: training would climb, or be lost to NaN."""
    check_positive("lr, the learning rate,", lr, or_zero=True)
    check_positive("momentum", momentum, or_zero=True)


def n_steps_of(n_examples: int, *, epochs: float, batch_size: int, smallest: int = 1) -> int:
    """Return how many steps so many epochs take, at least one."""
    return max(1, round(epochs * _n_batches(n_examples, batch_size, smallest)))


def schedule(
    n_examples: int,
    *,
    epochs: float,
    batch_size: int,
    rng: np.random.Generator,
    n_steps: int | None = None,
    smallest: int = 1,
) -> NDArray[np.intp]:
    """Return positions in batches, reshuffled each epoch; a fraction of an epoch is its share of steps.

    At least one step is taken: 0.1 epochs of 500 examples in batches of 64 are one step. With `n_steps`, that
    many are taken instead, whatever `epochs` says. A last batch of fewer than `smallest` examples joins the
    one before; whoever has fewer in all repeats them.

    >>> schedule(5, epochs=1, batch_size=2, rng=np.random.default_rng(0), smallest=2)
    array([[ 2,  4, -1],
           [ 3,  0,  1]])
    """
    if n_examples < 1 or batch_size < 1 or not epochs > 0:
        raise InputError(
            "training needs examples, batches and epochs above 0;"
            f" got {n_examples} examples, batch_size={batch_size}, epochs={epochs}"
        )
    if batch_size < smallest:
        raise InputError(f"this network trains on {smallest} examples or more; got batch_size={batch_size}")
    if n_steps is None:
        n_steps = n_steps_of(n_examples, epochs=epochs, batch_size=batch_size, smallest=smallest)
    check_whole("n_steps", n_steps, at_least=1)
    per_epoch = _n_batches(n_examples, batch_size, smallest)
    n_epochs = math.ceil(n_steps / per_epoch)
    batches = np.full((n_epochs, per_epoch, batch_size + smallest - 1), -1)
    ends = batch_size * np.arange(1, per_epoch)
    for epoch in batches:
        order = np.resize(rng.permutation(n_examples), max(n_examples, smallest))
        for row, part in zip(epoch, np.split(order, ends), strict=True):
            row[: len(part)] = part
    return batches.reshape(n_epochs * per_epoch, -1)[:n_steps]


def _n_batches(n_examples: int, batch_size: int, smallest: int) -> int:
    """Return how many batches an epoch has."""
    whole, rest = divmod(n_examples, batch_size)
    return max(1, whole + (rest >= smallest))
