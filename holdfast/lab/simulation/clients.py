"""The clients of a round train, in fixed groups, on as many threads as there are.

A group is one computation on one thread of torch, and which clients it holds depends on the run alone. So the
number of threads changes nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.threads import n_threads
from ...core import Bound
from ...errors import InputError
from ..lazy_torch import nn, torch
from ..models import load_params
from ..training import Shard, Trained

__all__ = ["Workers", "one_thread", "workers"]


@dataclass(frozen=True, eq=False)
class Workers:
    """Threads, each with a network of its own."""

    pool: ThreadPoolExecutor
    models: SimpleQueue[nn.Module]

    def train(
        self,
        train: Bound[Any],
        params: NDArray[np.float32],
        shards: Sequence[Shard],
        *,
        buffers: Any,
        n_together: int,
        span: tuple[NDArray[Any], NDArray[Any]] | None = None,
        previous: NDArray[np.float32] | None = None,
    ) -> Trained:
        """Return what all shards add to the params, trained in groups of about equal size."""
        n_groups = -(-len(shards) // n_together)
        groups = [[shards[i] for i in group] for group in np.array_split(np.arange(len(shards)), n_groups)]

        def one(group: Sequence[Shard]) -> Trained:
            with self._model() as model:
                load_params(model, params, buffers)
                trained = train(model, params, group, span=span, previous=previous)
                return _checked(train, trained, len(group), params.size)

        done = list(self.pool.map(one, groups))
        return Trained(
            np.concatenate([trained.updates for trained in done]),
            tuple(own for trained in done for own in trained.buffers),
            tuple(own for trained in done for own in trained.memory),
        )

    def scores(self, params: NDArray[np.float32], buffers: Any, x: NDArray[Any]) -> NDArray[np.float32]:
        """Return the network's scores of many examples, in parts of a fixed size."""

        def one(part: NDArray[Any]) -> NDArray[np.float32]:
            with self._model() as model, torch.no_grad():
                load_params(model, params, buffers)
                model.eval()
                device = next(model.parameters()).device
                scores: NDArray[np.float32] = model(torch.from_numpy(part).to(device)).cpu().numpy()
                return scores

        return np.concatenate(list(self.pool.map(one, np.array_split(x, -(-len(x) // 1024)))))

    def network(self, params: NDArray[np.float32], buffers: Any) -> nn.Module:
        """Return a copy of the network with these params, to do with what one likes."""
        with self._model() as model:
            load_params(model, params, buffers)
            return copy.deepcopy(model)

    @contextmanager
    def _model(self) -> Iterator[nn.Module]:
        model = self.models.get()
        try:
            yield model
        finally:
            self.models.put(model)


def _checked(train: Bound[Any], trained: Any, n_clients: int, dim: int) -> Trained:
    """Return what training returned; it may be a user's own function."""
    found = trained if isinstance(trained, Trained) else Trained(np.asarray(trained))
    if found.updates.shape != (n_clients, dim):
        raise InputError(
            f"{train.name} must return an update of {dim} numbers for each of {n_clients} clients;"
            f" got the shape {found.updates.shape}"
        )
    return found


@contextmanager
def one_thread() -> Iterator[None]:
    """Give torch one thread: with more, it adds in another order, and the last bits differ."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


@contextmanager
def workers(model: nn.Module) -> Iterator[Workers]:
    """Start threads for a run, each with a copy of the network, and one thread of torch."""
    n_models = n_threads() if next(model.parameters()).device.type == "cpu" else 1
    models: SimpleQueue[nn.Module] = SimpleQueue()
    for _ in range(n_models):
        models.put(copy.deepcopy(model))
    with one_thread(), ThreadPoolExecutor(n_models, "holdfast", lambda: torch.set_num_threads(1)) as pool:
        yield Workers(pool, models)
