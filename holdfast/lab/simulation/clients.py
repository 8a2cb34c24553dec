"""The clients of a round train, in fixed groups, on as many threads as there are.

A group is one computation on one thread of torch, and which clients it holds depends on the run alone. So the
number of threads changes nothing.
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from queue import SimpleQueue
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from ..._support.threads import n_threads
from ...core import Bound
from ...errors import InputError
from ..lazy_torch import nn, torch
from ..models import load_params
from ..training import Shard, Trained
from .checking import as_kept

__all__ = ["Workers", "one_thread", "threads", "workers"]

T = TypeVar("T")
R = TypeVar("R")


@dataclass(frozen=True, eq=False)
class Workers:
    """Threads, each with a network of its own. Without a pool there is one, the caller's."""

    pool: ThreadPoolExecutor | None
    models: SimpleQueue[nn.Module]
    n_models: int

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
        groups = np.array_split(np.arange(len(shards)), n_groups)
        updates = np.empty((len(shards), params.size), dtype=np.float32)

        def one(group: NDArray[np.intp]) -> Trained:
            with self._model() as model:
                load_params(model, params, buffers)
                own = {} if previous is None or not train.needs("previous") else {"previous": previous.copy()}
                trained = train(model, params.copy(), [shards[i] for i in group], span=span, **own)
                found = _checked(train, trained, len(group), params.size)
            # Copied here, so that the next group gets the same memory: fresh memory is slow to touch.
            updates[group[0] : group[-1] + 1] = found.updates
            return found._replace(updates=updates[:0])

        done = self._each(one, groups)
        return Trained(
            updates,
            tuple(own for trained in done for own in trained.buffers),
            tuple(own for trained in done for own in trained.memory),
        )

    def scores(self, params: NDArray[np.float32], buffers: Any, x: NDArray[Any]) -> NDArray[np.float32]:
        """Return the network's scores of many examples, in parts of a fixed size."""

        def some(parts: Sequence[NDArray[Any]]) -> list[NDArray[np.float32]]:
            with self._model() as model, torch.no_grad():
                load_params(model, params, buffers)
                model.eval()
                device = next(model.parameters()).device
                return [model(torch.from_numpy(part).to(device)).cpu().numpy() for part in parts]

        parts = np.array_split(x, -(-len(x) // 1024))
        n = min(self.n_models, len(parts))
        dealt = self._each(some, [parts[first::n] for first in range(n)])
        return np.concatenate([dealt[place % n][place // n] for place in range(len(parts))])

    def network(self, params: NDArray[np.float32], buffers: Any) -> nn.Module:
        """Return a copy of the network with these params, to do with what one likes."""
        with self._model() as model:
            load_params(model, params, buffers)
            return copy.deepcopy(model)

    def _each(self, work: Callable[[T], R], items: Iterable[T]) -> list[R]:
        """Return work(item) for each item, in order."""
        return list(map(work, items) if self.pool is None else self.pool.map(work, items))

    @contextmanager
    def _model(self) -> Iterator[nn.Module]:
        """Lend a network, and take it back as it was but for its params and buffers."""
        model = self.models.get()
        modes = [(module, module.training) for module in model.modules()]
        try:
            yield model
        finally:
            for module, is_training in modes:
                module.training = is_training
            model.zero_grad()
            self.models.put(model)


def _checked(train: Bound[Any], trained: Any, n_clients: int, dim: int) -> Trained:
    """Return what training returned; it may be a user's own function."""
    found = trained if isinstance(trained, Trained) else Trained(np.asarray(trained))
    if found.updates.shape != (n_clients, dim):
        raise InputError(
            f"{train.name} must return an update of {dim} numbers for each of {n_clients} clients;"
            f" got the shape {found.updates.shape}"
        )
    memory = (None if kept is None else as_kept(kept, train.name) for kept in found.memory)
    return found._replace(memory=tuple(memory))


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
def threads(model: nn.Module) -> Iterator[Workers]:
    """Start threads for the rounds of a run, each with a copy of the network, and one thread of torch.

    The caller's thread gets more than that unless it says `one_thread`, while the others are at work too.
    """
    n_models = n_threads() if next(model.parameters()).device.type == "cpu" else 1
    models: SimpleQueue[nn.Module] = SimpleQueue()
    for _ in range(n_models):
        models.put(copy.deepcopy(model))
    if n_models == 1:
        yield Workers(None, models, 1)
        return
    with ThreadPoolExecutor(n_models, "holdfast", lambda: torch.set_num_threads(1)) as pool:
        yield Workers(pool, models, n_models)


@contextmanager
def workers(model: nn.Module) -> Iterator[Workers]:
    """Start threads for one round, and keep torch to one thread for as long."""
    with one_thread(), threads(model) as crew:
        yield crew
