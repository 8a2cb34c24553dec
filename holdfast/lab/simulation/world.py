"""What does not change from round to round: the examples, who holds which, who is malicious."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import lru_cache, partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import Bound
from ...errors import InputError
from ..attacks import Backdoor
from ..data import Dataset
from ..lazy_torch import Tensor, nn, torch
from ..models import build_network
from ..scenario import Attack, Run

__all__ = ["PURPOSES", "Examples", "World", "build_world", "load_once"]

Array = NDArray[Any]
Examples = tuple[Tensor, Tensor]

#: What a stream of random numbers is for. Never reorder: the number is part of every result.
PURPOSES = (
    "model", "split", "malicious", "poison", "root", "sample", "batches", "craft", "rule", "exposure",
    "augment", "train",
)  # fmt: skip


@lru_cache(maxsize=2)
def load_once(data: Bound[Dataset]) -> Dataset:
    """Return a data set; the runs of one process share it.

    >>> from holdfast.lab import TASKS
    >>> load_once(TASKS["phishing"].data) is load_once(TASKS["phishing"].data)
    True
    """
    return data()


@dataclass(frozen=True, eq=False)
class World:
    """A run's examples, on its device, its network and its clients."""

    run: Run
    data: Dataset
    model: nn.Module
    backdoor: Backdoor | None
    x: Tensor
    y: Tensor
    held: list[NDArray[np.intp]]  # [client] which examples are its own
    root: NDArray[np.intp]  # and which are the server's
    added: dict[int, Examples] = field(default_factory=dict)  # [honest client] of an exposed pool
    poisoned: dict[int, Examples] = field(default_factory=dict)  # [attacker] what it adds to its own

    @property
    def malicious(self) -> NDArray[np.intp]:
        """Who attacks."""
        return np.array(sorted(self.poisoned), dtype=np.intp)

    def stream(self, purpose: str, *numbers: int) -> np.random.Generator:
        """Return random numbers for one purpose, whatever else is drawn and in which order."""
        return np.random.default_rng([self.run.seed, PURPOSES.index(purpose), *numbers])

    def honest_examples(self, client: int, number: int) -> Examples:
        """Return a client's honest examples as it sees them in a round; the server counts as one more."""
        held = self.root if client == len(self.held) else self.held[client]
        own = self.x[held], self.y[held]
        return self._augmented(_joined(own, self.added.get(client)), client, number)

    def attacking_examples(self, client: int, number: int) -> Examples:
        """Return an attacker's own examples and its poisoned ones."""
        own = self.honest_examples(client, number)
        bad = self.poisoned[client]
        if self.backdoor is not None and self.backdoor.moves:
            bad = self._augmented(bad, client, number, 1)
        return _joined(own, bad)

    def n_held(self, client: int) -> int:
        """Return how many honest examples a client has."""
        return len(self.held[client]) + (len(self.added[client][1]) if client in self.added else 0)

    def _augmented(self, examples: Examples, *numbers: int) -> Examples:
        augment = self.run.task.augment
        if augment is None or len(examples[1]) == 0:
            return examples
        return augment(examples[0], rng=self.stream("augment", *numbers)), examples[1]


def build_world(run: Run, device: str) -> World:
    """Return the world of a run, made from its seed.

    >>> from holdfast.lab import TASKS
    >>> len(build_world(Run(TASKS["phishing"]), "cpu").held)
    100
    """
    data = load_once(run.task.data)
    rng = {purpose: np.random.default_rng([run.seed, i]) for i, purpose in enumerate(PURPOSES)}
    network = partial(run.task.model, vectors=data.vectors)
    model = build_network(network, seed=int(rng["model"].integers(2**31))).to(device)
    _check_repeatable(model)
    backdoor = _planted(run.attack, data, rng["exposure"])
    order = rng["root"].permutation(len(data.y_train))
    root, rest = order[: run.task.n_root], np.sort(order[run.task.n_root :])
    dealt = run.task.split(data.y_train[rest], n_clients=run.task.n_clients, rng=rng["split"])
    held = [rest[shard] for shard in dealt]
    malicious = rng["malicious"].choice(run.task.n_clients, size=run.attack.n_malicious, replace=False)
    x, y = torch.from_numpy(data.x_train).to(device), torch.from_numpy(data.y_train).to(device)
    world = World(run, data, model, backdoor, x, y, held, root)
    honest = np.setdiff1d(np.arange(run.task.n_clients), malicious).tolist()
    for number, shown in enumerate(backdoor.exposed if backdoor else ()):
        client = honest[number % len(honest)]
        before = world.added.get(client)
        world.added[client] = _joined(before, _on(device, *shown)) if before else _on(device, *shown)
    for number, client in enumerate(malicious.tolist()):
        world.poisoned[client] = _on(device, *_poison(world, client, number))
    return world


def _planted(attack: Attack, data: Dataset, rng: np.random.Generator) -> Backdoor | None:
    """Return the backdoor of an attack, made for this data."""
    if attack.exposure and not (attack.backdoor and attack.backdoor.needs("exposure")):
        raise InputError(f"exposure={attack.exposure} needs an edge-case pool; {attack.name!r} has none")
    planted: Backdoor | None = (
        attack.backdoor(data, exposure=attack.exposure, rng=rng) if attack.backdoor else None
    )
    return planted


def _poison(world: World, client: int, number: int) -> tuple[Array, Array]:
    """Return an attacker's poisoned examples; `number` says which part of a trigger is its."""
    x, y = world.data.x_train[world.held[client]], world.data.y_train[world.held[client]]
    if world.backdoor is None:
        return x[:0], y[:0]
    count = round(world.run.attack.poison_fraction * len(y))
    bad = world.backdoor.poison(x, y, count, number, world.stream("poison", client))
    return bad, np.full(len(bad), world.backdoor.target)


def _on(device: str, x: Array, y: Array) -> Examples:
    return torch.from_numpy(np.ascontiguousarray(x)).to(device), torch.from_numpy(y).to(device)


def _joined(first: Examples, second: Examples | None) -> Examples:
    if second is None or len(second[1]) == 0:
        return first
    return torch.cat([first[0], second[0]]), torch.cat([first[1], second[1]])


def _check_repeatable(model: nn.Module) -> None:
    """Raise if the network draws random numbers while it trains: nothing would repeat."""
    drawing = [module for module in model.modules() if getattr(module, "p", 0) and "Dropout" in repr(module)]
    if drawing:
        raise InputError(f"a network that draws random numbers cannot repeat a result: take out {drawing[0]}")
