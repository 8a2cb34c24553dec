"""simulate(run): the round, written once. No callbacks, no files, no printing: its driver does those."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import nn

from .attacks import Backdoor
from .core import Bound
from .counting import whole_share
from .data import Dataset
from .diagnostics import Diagnostics
from .errors import InputError
from .models import flat_params, fresh
from .scenario import Attack, Run
from .screening import defend
from .training import Shard, schedule

__all__ = ["Record", "State", "simulate"]

Array = NDArray[Any]

#: What a stream of random numbers is for. Never reorder: the number is part of every result.
PURPOSES = ("model", "split", "malicious", "poison", "root", "sample", "batches", "craft", "rule", "exposure")


@dataclass(frozen=True, eq=False)
class State:
    """All that a run needs to go on after a round."""

    round: int
    params: NDArray[np.float32]
    previous: NDArray[np.float32] | None = None  # the last global update
    rule: Any = None  # what the rule keeps


@dataclass(frozen=True)
class Record:
    """What happened in a round."""

    round: int
    accuracy: float
    attack_success: float | None  # share of the challenge that gets the target; None without a backdoor
    n_attackers: int
    clients: tuple[int, ...]
    attackers: tuple[int, ...]
    diagnostics: Diagnostics = field(repr=False)
    seconds: float = field(compare=False)


@dataclass(frozen=True, eq=False)
class _World:
    """What does not change from round to round."""

    run: Run
    data: Dataset
    model: nn.Module
    backdoor: Backdoor | None
    clean: list[tuple[Array, Array]]  # [client] its own examples
    poisoned: dict[int, tuple[Array, Array]]  # [attacker] the same with poisoned ones added
    root: tuple[Array, Array]

    @property
    def malicious(self) -> NDArray[np.intp]:
        return np.array(sorted(self.poisoned), dtype=np.intp)

    def stream(self, purpose: str, *numbers: int) -> np.random.Generator:
        """Return random numbers for one purpose, whatever else is drawn and in which order."""
        return np.random.default_rng([self.run.seed, PURPOSES.index(purpose), *numbers])


def simulate(run: Run, *, after: State | None = None, device: str = "cpu") -> Iterator[tuple[Record, State]]:
    """Yield a record and the state after each round; `after` goes on from a state, to the same bits.

    >>> from holdfast.lab import TASKS
    >>> records = [record for record, _ in simulate(Run(TASKS["phishing"]).but(n_rounds=2, n_clients=20))]
    >>> [record.round for record in records]
    [1, 2]
    """
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"no device {device!r} here: {str(error).partition('.')[0]}") from None
    world = _world(run, device)
    state = State(0, flat_params(world.model)) if after is None else after
    while state.round < run.task.n_rounds:
        with _one_thread():
            record, state = _next_round(world, state)
        yield record, state


@contextmanager
def _one_thread() -> Iterator[None]:
    """Let torch use one thread: with more, sums are made in another order, and the last bits differ."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _world(run: Run, device: str) -> _World:
    def stream(purpose: str) -> np.random.Generator:
        return np.random.default_rng([run.seed, PURPOSES.index(purpose)])

    data = run.task.data()
    model = fresh(run.task.model, seed=int(stream("model").integers(2**31))).to(device)
    backdoor = _planted(run.attack, data, stream("exposure"))
    order = stream("root").permutation(len(data.y_train))
    root, rest = order[: run.task.n_root], np.sort(order[run.task.n_root :])
    dealt = data.y_train[rest] if data.users is None else data.users[rest]
    inputs = {"n_clients": run.task.n_clients, "rng": stream("split")}
    shards = [rest[shard] for shard in run.task.split(dealt, **inputs)]
    clean = [(data.x_train[shard], data.y_train[shard]) for shard in shards]
    malicious = stream("malicious").choice(run.task.n_clients, size=run.attack.n_malicious, replace=False)
    for number, (x, y) in enumerate(backdoor.exposed if backdoor else ()):
        honest = np.setdiff1d(np.arange(run.task.n_clients), malicious)
        own = clean[honest[number % len(honest)]]
        clean[honest[number % len(honest)]] = np.concatenate([own[0], x]), np.concatenate([own[1], y])
    world = _World(run, data, model, backdoor, clean, {}, (data.x_train[root], data.y_train[root]))
    for number, client in enumerate(malicious.tolist()):
        world.poisoned[client] = _poisoned(world, client, number)
    return world


def _planted(attack: Attack, data: Dataset, rng: np.random.Generator) -> Backdoor | None:
    """Return the backdoor of an attack, made for this data."""
    if attack.exposure and not (attack.backdoor and attack.backdoor.needs("exposure")):
        raise InputError(f"exposure={attack.exposure} needs an edge-case pool; {attack.name!r} has none")
    planted: Backdoor | None = (
        attack.backdoor(data, exposure=attack.exposure, rng=rng) if attack.backdoor else None
    )
    return planted


def _poisoned(world: _World, client: int, number: int) -> tuple[Array, Array]:
    """Return an attacker's examples and poisoned ones; `number` says which part of a trigger is its."""
    x, y = world.clean[client]
    if world.backdoor is None:
        return x, y
    count = round(world.run.attack.poison_fraction * len(y))
    bad = world.backdoor.poison(x, y, count, number, world.stream("poison", client))
    return np.concatenate([x, bad]), np.concatenate([y, np.full(len(bad), world.backdoor.target)])


def _next_round(world: _World, before: State) -> tuple[Record, State]:
    started = time.perf_counter()
    run, number = world.run, before.round + 1
    clients = _sampled(world, number)
    attacks = number in run.attack.rounds
    is_attacker = np.isin(clients, world.malicious) & attacks
    updates = np.empty((len(clients), before.params.size), dtype=np.float32)
    updates[~is_attacker] = _trained(world, before, clients[~is_attacker], world.clean)
    if is_attacker.any():
        updates[is_attacker] = _attacked(world, before, clients[is_attacker], updates[~is_attacker])

    weights = [len(world.clean[client][1]) for client in clients]
    result = defend(
        updates,
        run.defence.aggregate,
        weights=weights,
        clients=clients.tolist(),
        state=before.rule,
        previous=before.previous,
        reference=_reference(world, before) if run.defence.aggregate.needs("reference") else None,
        rng=world.stream("rule", number),
        explain=True,
    )
    after = State(number, before.params + result.update, result.update, result.state)
    accuracy, success = _evaluated(world, after.params)
    assert result.diagnostics is not None
    record = Record(
        round=number,
        accuracy=accuracy,
        attack_success=success,
        n_attackers=int(is_attacker.sum()),
        clients=tuple(clients.tolist()),
        attackers=tuple(clients[is_attacker].tolist()),
        diagnostics=result.diagnostics,
        seconds=time.perf_counter() - started,
    )
    return record, after


def _sampled(world: _World, number: int) -> NDArray[np.intp]:
    """Return the clients of a round."""
    task, rng = world.run.task, world.stream("sample", number)
    if world.run.sampling == "uniform":
        return np.sort(rng.choice(task.n_clients, size=task.n_per_round, replace=False))
    n_attackers = whole_share(world.run.attack.n_malicious / task.n_clients, task.n_per_round)
    honest = np.setdiff1d(np.arange(task.n_clients), world.malicious)
    return np.sort(
        np.concatenate(
            [
                rng.choice(world.malicious, size=n_attackers, replace=False),
                rng.choice(honest, size=task.n_per_round - n_attackers, replace=False),
            ]
        )
    )


def _trained(
    world: _World, before: State, clients: NDArray[np.intp], examples: Any, train: Bound[Any] | None = None
) -> NDArray[np.float32]:
    """Return the updates of these clients, each trained on its examples, by default as the task says."""
    if len(clients) == 0:
        return np.empty((0, before.params.size), dtype=np.float32)
    shards = [_shard(world, before.round + 1, int(client), *examples[client]) for client in clients]
    updates: NDArray[np.float32] = (train or world.run.task.train)(world.model, before.params, shards)
    return updates


def _shard(world: _World, number: int, client: int, x: Array, y: Array) -> Shard:
    task = world.run.task
    rng = world.stream("batches", number, client)
    return Shard(x, y, schedule(len(y), epochs=task.epochs, batch_size=task.batch_size, rng=rng))


def _attacked(
    world: _World, before: State, attackers: NDArray[np.intp], benign: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Return what the attackers of a round send."""
    attack, number = world.run.attack, before.round + 1
    if attack.colludes:
        leader = int(attackers[0])
        parts = [world.poisoned[int(client)] for client in attackers]
        pooled = np.concatenate([x for x, _ in parts]), np.concatenate([y for _, y in parts])
        # As many steps as one of them would take, on the examples of all.
        share = world.run.task.epochs * len(world.clean[leader][1]) / len(pooled[1])
        rng = world.stream("batches", number, leader)
        batches = schedule(len(pooled[1]), epochs=share, batch_size=world.run.task.batch_size, rng=rng)
        alone = (attack.train or world.run.task.train)(world.model, before.params, [Shard(*pooled, batches)])
        updates: NDArray[np.float32] = np.repeat(alone, len(attackers), axis=0)
    else:
        updates = _trained(world, before, attackers, world.poisoned, attack.train)
    for craft in attack.crafts:
        rehearsal = _trained(world, before, attackers, world.clean) if craft.needs("rehearsal") else None
        rng = world.stream("craft", number)
        updates = craft(updates, previous=before.previous, benign=benign, rehearsal=rehearsal, rng=rng)
    return updates


def _reference(world: _World, before: State) -> NDArray[np.float32]:
    """Return the server's own update, from its root examples, trained as a client trains."""
    shard = _shard(world, before.round + 1, world.run.task.n_clients, *world.root)
    updates = world.run.task.train(world.model, before.params, [shard])
    return np.asarray(updates[0])


def _evaluated(world: _World, params: NDArray[np.float32]) -> tuple[float, float | None]:
    """Return the accuracy on the test examples, and the share of the challenge that gets the target."""
    accuracy = float((_answers(world.model, params, world.data.x_test) == world.data.y_test).mean())
    if world.backdoor is None:
        return accuracy, None
    return accuracy, float(
        (_answers(world.model, params, world.backdoor.challenge) == world.backdoor.target).mean()
    )


def _answers(model: nn.Module, params: NDArray[np.float32], x: Array) -> Array:
    device = next(model.parameters()).device
    nn.utils.vector_to_parameters(torch.from_numpy(params.copy()).to(device), model.parameters())
    with torch.no_grad():
        scores = [model(torch.from_numpy(part).to(device)) for part in np.array_split(x, -(-len(x) // 2048))]
        return torch.cat(scores).argmax(dim=1).cpu().numpy()
