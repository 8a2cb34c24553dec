"""Look into a trained model: its loss and gradients on chosen examples, and what clients would send next."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from .lazy_torch import Tensor, functional, torch
from .models import load_params
from .simulation.clients import one_thread, workers
from .simulation.world import Examples, World, join_examples
from .training import Trained

__all__ = ["Probe"]

Array = NDArray[Any]

#: Examples that go through the network at once. Fixed, so that the sums are the same on every machine.
PART = 1024


@dataclass(frozen=True, eq=False)
class Probe:
    """A trained model in its world: its loss and gradients, and what its clients would send next."""

    world: World
    params: NDArray[np.float32]
    buffers: Mapping[str, Array]

    @property
    def honest(self) -> list[int]:
        """The clients that are not malicious."""
        clients = np.arange(self.world.run.task.n_clients)
        return [int(client) for client in np.setdiff1d(clients, self.world.malicious)]

    @property
    def malicious(self) -> list[int]:
        """The attackers that have poisoned examples."""
        poisoned = self.world.poisoned
        return [client for client in sorted(poisoned) if len(poisoned[client][1])]

    def honest_examples(self, clients: Iterable[int]) -> Examples:
        """Return the honest examples of these clients, with what they hold of an edge-case pool."""
        return join_examples(*(self.world.honest_examples(client, self._next) for client in clients))

    def poisoned_examples(self, clients: Iterable[int]) -> Examples:
        """Return what these attackers add to their own examples, with the attackers' label."""
        return join_examples(*(self.world.poisoned[client] for client in clients))

    def edge_cases(self) -> Examples | None:
        """Return what honest clients hold of an edge-case pool, or None if they hold nothing of it."""
        return join_examples(*self.world.added.values()) if self.world.added else None

    def train_clients(self, clients: Sequence[int], *, attacking: bool = False) -> Trained:
        """Return what these clients would send in the next round, trained as the task or the attack says."""
        world, run = self.world, self.world.run
        examples = world.attacking_examples if attacking else world.honest_examples
        train = (run.attack.train if attacking else None) or run.task.train
        shards = [world.shard(client, examples(client, self._next), self._next) for client in clients]
        with workers(world.model) as crew:
            return crew.train(
                train, self.params, shards, buffers=self.buffers, n_together=run.task.n_together
            )

    def loss(self, params: Array, examples: Examples) -> float:
        """Return the mean cross-entropy at these params, with this model's buffers."""

        def total(x: Tensor, y: Tensor) -> float:
            return float(functional.cross_entropy(self.world.model(x), y, reduction="sum"))

        with one_thread(), torch.no_grad():
            self._load(params)
            return sum(total(x, y) for x, y in _parts(examples)) / len(examples[1])

    def gradient(self, examples: Examples) -> NDArray[np.float64]:
        """Return the gradient of the mean cross-entropy at this model."""
        whole = np.zeros(self.params.size)
        with one_thread():
            self._load(self.params)
            for x, y in _parts(examples):
                loss = functional.cross_entropy(self.world.model(x), y, reduction="sum")
                parts = torch.autograd.grad(loss, list(self.world.model.parameters()))
                whole += torch.cat([part.reshape(-1) for part in parts]).cpu().numpy()
        return whole / len(examples[1])

    def accuracy_and_success(
        self, params: Array, buffers: Mapping[str, Array] | None = None
    ) -> tuple[float, float]:
        """Return accuracy and attack success at these params."""
        data, backdoor = self.world.data, self.world.backdoor
        assert backdoor is not None
        with workers(self.world.model) as crew:

            def share(x: Array, wanted: Any) -> float:
                scores = crew.scores(params.astype(np.float32), buffers or self.buffers, x)
                return float((scores.argmax(axis=1) == wanted).mean())

            return share(data.x_test, data.y_test), share(backdoor.challenge, backdoor.target)

    @property
    def _next(self) -> int:
        return self.world.run.task.n_rounds + 1

    def _load(self, params: Array) -> None:
        load_params(self.world.model, params.astype(np.float32), self.buffers)
        self.world.model.eval()


def _parts(examples: Examples) -> Iterator[Examples]:
    return zip(*(part.split(PART) for part in examples), strict=True)  # type: ignore[no-untyped-call]
