"""simulate(run): the round, written once. No callbacks, no files, no printing: its driver does those."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import lru_cache
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import whole_share
from ...core import Bound, Memory
from ...defending import Defended, defend_screened
from ...defending.screening import fitting, with_buffers
from ...diagnostics import Diagnostics
from ...errors import InputError
from ...watching import Verdicts
from ..lazy_torch import torch
from ..models import flat_params, named_buffers
from ..scenario import Run, Task
from ..training.schedule import Kept, Shard, Trained, n_steps_of
from .clients import Workers, workers
from .world import Examples, World, build_world, join_examples, load_once

__all__ = ["Record", "State", "load_once", "simulate"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class State:
    """All that a run needs to resume after a round."""

    round: int
    params: NDArray[np.float32]
    previous: NDArray[np.float32] | None = None  # the last global update
    memory: Memory = field(default_factory=Memory)  # what the defence remembers
    buffers: Mapping[str, Array] = field(default_factory=dict)  # the network's, such as BatchNorm's
    kept: Mapping[int, Kept] = field(default_factory=dict)  # [client] what its training keeps


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
    minority_accuracy: float | None = None  # on the test examples as a minority has them; None without one
    verdicts: Verdicts | None = field(default=None, repr=False)  # of the defence's watch, if it has one
    n_found: int | None = None  # attackers that are expelled
    n_wronged: int | None = None  # and honest clients


def simulate(run: Run, *, after: State | None = None, device: str = "cpu") -> Iterator[tuple[Record, State]]:
    """Yield a record and the state after each round; `after` resumes from a state, to the same bits.

    >>> from holdfast.lab import TASKS
    >>> records = [record for record, _ in simulate(Run(TASKS["phishing"]).replace(n_rounds=2, n_clients=20))]
    >>> [record.round for record in records]
    [1, 2]
    """
    try:
        torch.empty(0, device=device)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"no device {device!r} here: {str(error).partition('.')[0]}") from None
    world = build_world(run, device)
    state = after or _start(world, device)
    while state.round < run.task.n_rounds:
        with workers(world.model) as crew:
            record, state = _Round(world, crew, state).run()
        yield record, state


def _start(world: World, device: str) -> State:
    """Return the state before the first round: a fresh network, which the server may have warmed up."""
    if not world.run.task.warm_epochs:
        return State(0, flat_params(world.model), buffers=named_buffers(world.model))
    params, buffers = _warmed_up(world.run.task, world.run.seed, device)
    return State(0, params.copy(), buffers=buffers)


@lru_cache(maxsize=4)
def _warmed_up(task: Task, seed: int, device: str) -> tuple[NDArray[np.float32], Mapping[str, Array]]:
    """Return params and buffers trained on the server's own examples: the same whatever the attack."""
    world = build_world(Run(task, seed=seed), device)
    fresh = State(-1, flat_params(world.model), buffers=named_buffers(world.model))
    shard = world.shard(task.n_clients, world.honest_examples(task.n_clients, 0), 0, epochs=task.warm_epochs)
    with workers(world.model) as crew:
        warm = _Round(world, crew, fresh).train(task.train, [shard])
    return fresh.params + warm.updates[0], warm.buffers[0] if warm.buffers else {}


@dataclass(frozen=True, eq=False)
class _Round:
    """One round, from the state before it."""

    world: World
    crew: Workers
    before: State

    @property
    def number(self) -> int:
        return self.before.round + 1

    def run(self) -> tuple[Record, State]:
        """Return what happened, and the state after it."""
        started = time.perf_counter()
        world, before = self.world, self.before
        clients = self._sample()
        is_attacker = np.isin(clients, world.malicious) & world.run.attack.is_on(self.number)
        sent = self._sent(clients, is_attacker)
        result = self._defend(clients, sent)
        kept = zip(clients.tolist(), sent.memory, strict=False)
        after = State(
            self.number,
            result.model,
            result.update if result.diagnostics.aggregated else before.previous,
            result.state,
            result.buffers,
            {**before.kept, **{client: memory for client, memory in kept if memory is not None}},
        )
        accuracy, success, minority_accuracy = self._evaluate(after)
        record = Record(
            round=self.number,
            accuracy=accuracy,
            attack_success=success,
            n_attackers=int(is_attacker.sum()),
            clients=tuple(clients.tolist()),
            attackers=tuple(clients[is_attacker].tolist()),
            diagnostics=result.diagnostics,
            seconds=time.perf_counter() - started,
            minority_accuracy=minority_accuracy,
            verdicts=result.verdicts,
            **self._found(result.verdicts),
        )
        return record, after

    def _found(self, verdicts: Verdicts | None) -> dict[str, int]:
        """Return how many attackers, and how many honest clients, are expelled."""
        if verdicts is None:
            return {}
        # A client that whitewashes itself has several ids.
        ids = np.array(verdicts.of("expelled"), dtype=np.intp)
        expelled = np.unique(ids % self.world.run.task.n_clients)
        guilty = np.isin(expelled, self.world.malicious)
        return {"n_found": int(guilty.sum()), "n_wronged": int((~guilty).sum())}

    def _sample(self) -> NDArray[np.intp]:
        """Return the clients of the round."""
        run, malicious = self.world.run, self.world.malicious
        task, rng = run.task, self.world.stream("sample", self.number)
        if run.sampling == "uniform":
            return np.sort(rng.choice(task.n_clients, size=task.n_per_round, replace=False))
        n_attackers = whole_share(run.attack.n_malicious / task.n_clients, task.n_per_round)
        honest = np.setdiff1d(np.arange(task.n_clients), malicious)
        drawn = (
            rng.choice(malicious, size=n_attackers, replace=False),
            rng.choice(honest, size=task.n_per_round - n_attackers, replace=False),
        )
        return np.sort(np.concatenate(drawn))

    def _sent(self, clients: NDArray[np.intp], is_attacker: NDArray[np.bool_]) -> Trained:
        """Return what the server gets from all clients, in their order."""
        world, run = self.world, self.world.run
        honest = self._train_clients(
            clients[~is_attacker], world.honest_examples, run.defence.train or run.task.train
        )
        if not is_attacker.any():
            return honest
        attacked = self._attack(clients[is_attacker], honest.updates)
        updates = np.empty((len(clients), self.before.params.size), dtype=np.float32)
        updates[~is_attacker], updates[is_attacker] = honest.updates, attacked.updates
        return Trained(
            updates,
            _in_order(is_attacker, honest.buffers, attacked.buffers),
            _in_order(is_attacker, honest.memory, attacked.memory),
        )

    def _attack(self, attackers: NDArray[np.intp], benign: NDArray[np.float32]) -> Trained:
        """Return what the attackers send."""
        world, attack = self.world, self.world.run.attack
        train = attack.train or world.run.task.train
        if attack.colludes:
            trained = self._collude(attackers, train)
        else:
            trained = self._train_clients(attackers, world.attacking_examples, train)
        known = {
            "previous": self.before.previous,
            "benign": benign,
            "attackers": attackers,
            "round": self.number,
        }
        if any(craft.needs("rehearsal") for craft in attack.crafts):
            known["rehearsal"] = self._train_clients(attackers, world.honest_examples, train).updates
        updates = trained.updates
        for position, craft in enumerate(attack.crafts):
            updates = craft(updates, **known, rng=world.stream("craft", self.number, position))
        return trained._replace(updates=updates)

    def _collude(self, attackers: NDArray[np.intp], train: Bound[Any]) -> Trained:
        """Return the first attacker's update for all: on the examples of all, in the steps of one."""
        world, leader, n = self.world, int(attackers[0]), len(attackers)
        parts = [world.attacking_examples(client, self.number) for client in attackers.tolist()]
        pooled = join_examples(*parts)
        share = world.run.task.epochs * world.n_held(leader) / len(pooled[1])
        alone = self.train(train, [self._shard(leader, pooled, epochs=share)])
        return Trained(np.repeat(alone.updates, n, axis=0), alone.buffers * n, alone.memory * n)

    def _reference(self, clients: NDArray[np.intp]) -> NDArray[np.float32]:
        """Return the server's own update, from its root examples, in as many steps as the median client.

        With more steps the clients, each scaled to its length, would overshoot.
        """
        task, world = self.world.run.task, self.world
        taken = [
            n_steps_of(world.n_held(client), epochs=task.epochs, batch_size=task.batch_size)
            for client in clients.tolist()
        ]
        examples = world.honest_examples(task.n_clients, self.number)
        root = self._shard(task.n_clients, examples, n_steps=int(np.median(taken)))
        return np.asarray(self.train(task.train, [root]).updates[0])

    def _defend(self, clients: NDArray[np.intp], sent: Trained) -> Defended:
        """Return what the server makes of the updates."""
        world, before, rule = self.world, self.before, self.world.run.defence.aggregate
        ids = self._ids(clients)
        weights = [world.n_held(client) for client in clients.tolist()]
        found = fitting(sent.updates, like=before.params, weights=weights, clients=ids)
        found = replace(found, rows=replace(found.rows, explain=True))
        return defend_screened(
            with_buffers(found, base=before.buffers, sent=sent.buffers),
            rule,
            state=before.memory,
            reference=self._reference(clients) if rule.needs("reference") else None,
            rng=world.stream("rule", self.number),
            watch=world.run.defence.watch,
        )

    def _ids(self, clients: NDArray[np.intp]) -> list[int]:
        """Return the ids that clients show: their own, or those that whitewash a new one once expelled."""
        ids: list[int] = clients.tolist()
        remembered = self.before.memory.watch
        if not self.world.run.attack.whitewashes or remembered is None:
            return ids
        burnt = {client for client, gone in zip(remembered.clients, remembered.expelled, strict=True) if gone}
        n, malicious = self.world.run.task.n_clients, set(self.world.malicious.tolist())
        return [
            next(id for id in count(client, n) if id not in burnt) if client in malicious else client
            for client in ids
        ]

    def _train_clients(
        self, clients: NDArray[np.intp], examples: Callable[[int, int], Examples], train: Bound[Any]
    ) -> Trained:
        """Return what these clients send, each trained on its examples."""
        if len(clients) == 0:
            return Trained(np.empty((0, self.before.params.size), dtype=np.float32))
        shards = [self._shard(client, examples(client, self.number)) for client in clients.tolist()]
        return self.train(train, shards)

    def _shard(self, client: int, examples: Examples, **steps: Any) -> Shard:
        return self.world.shard(client, examples, self.number, memory=self.before.kept.get(client), **steps)

    def train(self, train: Bound[Any], shards: list[Shard]) -> Trained:
        """Return what these shards add to the global model."""
        before, n_together, span = self.before, self.world.run.task.n_together, self.world.data.span
        return self.crew.train(
            train, before.params, shards, buffers=before.buffers, n_together=n_together, span=span
        )

    def _evaluate(self, after: State) -> tuple[float, float | None, float | None]:
        """Return the accuracy on the test examples, the share of the challenge that gets the target, and the
        accuracy on the test examples as the minority has them.
        """
        world, predict = self.world, self.world.run.defence.predict

        def share(x: Array, answer: Array | int) -> float:
            answers = np.asarray(predict(self.crew.scores(after.params, after.buffers, x)))
            return float((answers == answer).mean())

        y, backdoor, minority = world.data.y_test, world.backdoor, world.minority_test
        return (
            share(world.data.x_test, y),
            None if backdoor is None else share(backdoor.challenge, backdoor.target),
            None if minority is None else share(minority, y),
        )


def _in_order(is_attacker: NDArray[np.bool_], honest: tuple[Any, ...], attacked: tuple[Any, ...]) -> Any:
    """Return what honest clients and attackers have, in the order of all; None where one has nothing."""
    queues = iter(honest), iter(attacked)
    return tuple(next(queues[bad], None) for bad in is_attacker.tolist())
