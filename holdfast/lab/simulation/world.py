"""What does not change from round to round: the examples, who holds which, who is malicious."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property, lru_cache, partial
from itertools import cycle
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import Bound
from ...errors import InputError
from ..attacks import Backdoor
from ..data import Dataset
from ..lazy_torch import Tensor, nn, torch
from ..models import build_network
from ..scenario import Attack, Run, Task
from ..training.schedule import FEW, Kept, Shard, n_steps_of, schedule, trains_on_one
from .checking import (
    as_backdoor,
    as_dataset,
    as_labels,
    as_network,
    as_numbers,
    as_poison,
    as_split,
    check_finite,
    unwritable_data,
)

__all__ = ["Examples", "World", "build_world", "join_examples", "load", "load_once"]

Array = NDArray[Any]
Examples = tuple[Tensor, Tensor]

#: What a stream of random numbers is for. Never reorder: the number is part of every result.
PURPOSES = (
    "model", "split", "malicious", "poison", "root", "sample", "batches", "craft", "rule", "exposure",
    "augment", "train", "minority", "trigger",
)  # fmt: skip


def load_once(data: Bound[Dataset]) -> Dataset:
    """Return a data set; the runs of one process share it while its loader, and what it uses, is the same."""
    return _loaded(data, data.identity)


@lru_cache(maxsize=2)
def _loaded(data: Bound[Dataset], identity: str) -> Dataset:
    return load(data)


def load(data: Bound[Dataset]) -> Dataset:
    """Return what a loader, which may be a user's own, returns: a data set."""
    return as_dataset(data(), data.name)


def join_examples(first: Examples, *others: Examples) -> Examples:
    """Return the examples of all parts, in their order; no copy where there is nothing to join."""
    parts = [first, *(part for part in others if len(part[1]))]
    return first if len(parts) == 1 else (torch.cat([x for x, _ in parts]), torch.cat([y for _, y in parts]))


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
    minority: NDArray[np.intp]  # who has its examples in another form
    added: dict[int, Examples] = field(default_factory=dict)  # [honest client] of an exposed pool
    poisoned: dict[int, Examples] = field(default_factory=dict)  # [attacker] what it adds to its own

    @property
    def malicious(self) -> NDArray[np.intp]:
        """Who attacks."""
        return np.array(sorted(self.poisoned), dtype=np.intp)

    def stream(self, purpose: str, *numbers: int) -> np.random.Generator:
        """Return random numbers for one purpose, whatever else is drawn and in which order."""
        return _stream(self.run.seed, purpose, *numbers)

    def honest_examples(self, client: int, number: int) -> Examples:
        """Return a client's honest examples as it sees them in a round; the server counts as one more."""
        held = self.root if client == len(self.held) else self.held[client]
        if client in self.minority:
            own = _on(self.x.device, self._as_minority(self.data.x_train[held]), self.data.y_train[held])
        else:
            own = self.x[held], self.y[held]
        if client in self.added:
            own = join_examples(own, self.added[client])
        return self._augmented(own, client, number)

    def attacking_examples(self, client: int, number: int, backdoor: Backdoor | None = None) -> Examples:
        """Return an attacker's own examples and its poisoned ones, by this backdoor or that of the start."""
        bad = self.poison(backdoor, client, number)
        if self.backdoor is not None and self.backdoor.moves:
            bad = self._augmented((bad[0].clone(), bad[1]), client, number, 1)
        return join_examples(self.honest_examples(client, number), bad)

    def poison(self, backdoor: Backdoor | None, client: int, number: int) -> Examples:
        """Return an attacker's poisoned examples in a round: those of the start, unless drawn anew."""
        if backdoor is None or (backdoor is self.backdoor and not self.run.attack.poison_per_batch):
            return self.poisoned[client]
        part = list(self.poisoned).index(client)
        return _on(
            self.x.device, *_poison(self, backdoor, client, part, self.stream("poison", client, number))
        )

    def armed(self, attack: Mapping[str, Kept]) -> Backdoor | None:
        """Return the backdoor with what the attackers have learned of its trigger."""
        if self.backdoor is None or self.backdoor.armed is None or "trigger" not in attack:
            return self.backdoor
        return as_backdoor(self.backdoor.armed(attack["trigger"]), self.data, self.run.attack.backdoor.name)

    @cached_property
    def smallest_batch(self) -> int:
        """The fewest examples in a batch: one, or `FEW` where a BatchNorm sees one number of each."""
        return 1 if trains_on_one(self.model, self.x) else max(2, min(FEW, self.run.task.batch_size))

    @cached_property
    def minority_test(self) -> Array | None:
        """The test examples as the minority has them; None where the task has no minority."""
        return None if self.run.task.minority is None else self._as_minority(self.data.x_test)

    def _as_minority(self, examples: Array) -> Array:
        """Return the examples as the minority has them."""
        changed = self.run.task.minority(examples.copy(), data=unwritable_data(self.data))
        found = as_numbers(changed, examples.shape, self.run.task.minority.name)
        check_finite(found, f"what {self.run.task.minority.name} returns")
        return np.ascontiguousarray(found, dtype=examples.dtype)

    def shard(
        self,
        client: int,
        examples: Examples,
        number: int,
        *,
        epochs: float | None = None,
        n_steps: int | None = None,
        memory: Kept | None = None,
    ) -> Shard:
        """Return a client's examples of a round in the order that it sees them in."""
        task, (x, y) = self.run.task, examples
        rng = self.stream("batches", number, client)
        epochs = epochs or task.epochs
        batches = schedule(
            len(y),
            epochs=epochs,
            batch_size=task.batch_size,
            rng=rng,
            n_steps=n_steps,
            smallest=self.smallest_batch,
        )
        return Shard(x, y, batches, int(self.stream("train", number, client).integers(2**31)), memory)

    def n_held(self, client: int) -> int:
        """Return how many honest examples a client has."""
        return len(self.held[client]) + (len(self.added[client][1]) if client in self.added else 0)

    def _augmented(self, examples: Examples, *numbers: int) -> Examples:
        augment = self.run.task.augment
        if augment is None or len(examples[1]) == 0:
            return examples
        return augment(examples[0], rng=self.stream("augment", *numbers)), examples[1]


def _stream(seed: int, purpose: str, *numbers: int) -> np.random.Generator:
    return np.random.default_rng([seed, PURPOSES.index(purpose), *numbers])


def build_world(run: Run, device: str) -> World:
    """Return the world of a run, determined by its seed."""
    task, data, stream = run.task, load_once(run.task.data), partial(_stream, run.seed)
    network = partial(task.model, vectors=data.vectors)
    made = build_network(network, seed=int(stream("model").integers(2**31)))
    model = as_network(made, task.model.name).to(device)
    _check_repeatable(model)
    backdoor = _backdoor(run.attack, data, stream("exposure"))
    order = stream("root").permutation(len(data.y_train))
    root, rest = order[: task.n_root], np.sort(order[task.n_root :])
    dealt = _dealt(task, data.y_train[rest], len(root), stream("split"))
    malicious = stream("malicious").choice(task.n_clients, size=run.attack.n_malicious, replace=False)
    minority = _minority(task, malicious, stream("minority"))
    x, y = _on(device, data.x_train, data.y_train)
    world = World(run, data, model, backdoor, x, y, [rest[shard] for shard in dealt], root, minority)
    honest = np.setdiff1d(np.arange(task.n_clients), malicious).tolist()
    for exposed, client in zip(backdoor.exposed if backdoor else (), cycle(honest), strict=False):
        before = (world.added[client],) if client in world.added else ()
        world.added[client] = join_examples(*before, _on(device, *exposed))
    for number, client in enumerate(malicious.tolist()):
        bad = data.x_train[:0], data.y_train[:0]
        if backdoor is not None:
            bad = _poison(world, backdoor, client, number, stream("poison", client))
        world.poisoned[client] = _on(device, *bad)
    return world


def _dealt(task: Task, labels: Array, n_root: int, rng: np.random.Generator) -> list[NDArray[np.intp]]:
    """Return which of the examples that the server left each client holds."""
    taken = (
        f"the server holds {n_root} of {n_root + len(labels)} training examples (n_root={task.n_root}),"
        f" which leaves {len(labels)} for {task.n_clients} clients"
    )
    if len(labels) == 0:
        raise InputError(f"{taken}: set a smaller n_root, or load more examples")
    try:
        dealt = task.split(labels, n_clients=task.n_clients, rng=rng)
    except InputError as error:
        raise InputError(f"{error}; {taken}") from None
    return as_split(dealt, task.n_clients, len(labels), task.split.name)


def _minority(task: Task, malicious: Array, rng: np.random.Generator) -> NDArray[np.intp]:
    """Return who is in the minority: the first honest clients in an order that no attack changes."""
    order = rng.permutation(task.n_clients)
    return np.sort(order[~np.isin(order, malicious)][: task.n_minority])


def _backdoor(attack: Attack, data: Dataset, rng: np.random.Generator) -> Backdoor | None:
    """Return the backdoor of an attack for this data."""
    if attack.exposure and not (attack.backdoor and attack.backdoor.needs("exposure")):
        raise InputError(f"exposure={attack.exposure} needs an edge-case pool; {attack.name!r} has none")
    if attack.backdoor is None:
        return None
    made = attack.backdoor(unwritable_data(data), exposure=attack.exposure, rng=rng)
    backdoor = as_backdoor(made, data, attack.backdoor.name)
    check_finite(backdoor.challenge, f"the challenge of {attack.backdoor.name}")
    return backdoor


def _poison(
    world: World, backdoor: Backdoor, client: int, number: int, rng: np.random.Generator
) -> tuple[Array, Array]:
    """Return an attacker's poisoned examples; `number` says which part of a trigger is its own."""
    x, y = world.data.x_train[world.held[client]], world.data.y_train[world.held[client]]
    task, attack = world.run.task, world.run.attack
    count = round(attack.poison_fraction * len(y))
    if attack.poison_per_batch:
        pace: Any = {"epochs": task.epochs, "batch_size": task.batch_size, "smallest": world.smallest_batch}
        count = attack.poison_per_batch * n_steps_of(len(y), **pace)
    name, again = attack.backdoor.name, copy.deepcopy(rng)
    bad = as_poison(backdoor.poison(x, y, count, number, rng), (count, *x.shape[1:]), f"the poison of {name}")
    if not attack.masks or 2 * number < attack.n_malicious or len(bad) == 0:
        return bad, np.full(len(bad), backdoor.target)
    if backdoor.truth is None:
        raise InputError(
            f"attackers cannot mask {name}: it does not tell the correct labels of its poisoned examples."
            " Choose another backdoor, or give yours one more function, Backdoor(truth=...)"
        )
    truth = backdoor.truth(x, y, count, number, again)
    return bad, as_labels(truth, len(bad), world.data, name, "poisons")


def _on(device: str | torch.device, x: Array, y: Array) -> Examples:
    return torch.from_numpy(np.ascontiguousarray(x)).to(device), torch.from_numpy(y).to(device)


def _check_repeatable(model: nn.Module) -> None:
    """Raise if the network draws random numbers while it trains: nothing would repeat."""
    drawing = [module for module in model.modules() if getattr(module, "p", 0) and "Dropout" in repr(module)]
    if drawing:
        raise InputError(f"a network that draws random numbers cannot repeat a result: take out {drawing[0]}")
