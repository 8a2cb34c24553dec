"""One round: who is in it, what they send, what the server makes of it, and how good the model is then."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ..._support.counting import whole_share
from ...core import Bound
from ...defending import Defended, defend_screened
from ...defending.screening import fitting, with_buffers
from ...watching import Verdicts
from ..attacks import Backdoor
from ..leaks import Let, let_through
from ..models import named_buffers
from ..scenario import Defence
from ..training.schedule import Shard, Trained, n_steps_of
from .attacking import Attackers
from .checking import as_numbers
from .clients import Workers
from .state import Record, Sent, State
from .statistics import statistics_of_worker
from .world import Examples, World

__all__ = ["Round"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Round:
    """One round, from the state before it."""

    world: World
    crew: Workers
    before: State

    @property
    def number(self) -> int:
        """Which round it is, from 1 on."""
        return self.before.round + 1

    def run(self) -> tuple[Record, State]:
        """Return what happened, and the state after it."""
        started = time.perf_counter()
        world, before = self.world, self.before
        clients = self.sample()
        is_attacker = np.isin(clients, world.malicious) & world.run.attack.is_on(self.number)
        sent = self.sent(clients, is_attacker)
        result = self.defend(clients, sent, world.run.defence)
        if world.run.task.statistics == "worker":
            left = statistics_of_worker(world.model, before.buffers, sent.buffers)
            result = replace(result, buffers=left)
        kept = zip(clients.tolist(), sent.memory, strict=False)
        params, buffers = self._trained_after(result)
        after = State(
            self.number,
            params,
            result.update if result.diagnostics.aggregated else before.previous,
            result.state,
            buffers,
            {**before.kept, **{client: memory for client, memory in kept if memory is not None}},
            sent.attack,
        )
        accuracy, success, minority_accuracy = self.evaluate(after)
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
            **self.let_through(is_attacker, sent, result)._asdict(),
            examples=tuple(world.n_held(client) for client in clients.tolist()),
        )
        return record, after

    def _trained_after(self, result: Defended) -> tuple[NDArray[np.float32], Mapping[str, Array]]:
        """Return the model after the server's own training, if its defence has one and the model moved."""
        after, server = self.world.run.defence.after, self.world.run.task.n_clients
        if after is None or not result.diagnostics.aggregated:
            return result.model, result.buffers
        shard = self.shard(server, self.world.honest_examples(server, self.number))
        trained = self.crew.train(
            after,
            result.model,
            [shard],
            buffers=result.buffers,
            n_together=1,
            span=self.world.data.span,
            previous=result.update,
        )
        return result.model + trained.updates[0], trained.buffers[0] if trained.buffers else result.buffers

    def let_through(self, is_attacker: NDArray[np.bool_], sent: Sent, result: Defended) -> Let:
        """Return how much of the attack, and of the honest step, is in what the server made of the round."""
        if not result.diagnostics.aggregated:
            return Let()
        return let_through(sent.updates, is_attacker, result.update)

    def _found(self, verdicts: Verdicts | None) -> dict[str, int]:
        """Return how many attackers, and how many honest clients, are expelled."""
        if verdicts is None:
            return {}
        # A client that whitewashes itself has several ids.
        ids = np.array(verdicts.named, dtype=np.intp)
        expelled = np.unique(ids % self.world.run.task.n_clients)
        guilty = np.isin(expelled, self.world.malicious)
        return {"n_found": int(guilty.sum()), "n_wronged": int((~guilty).sum())}

    def sample(self) -> NDArray[np.intp]:
        """Return the clients of the round, in order."""
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

    def sent(self, clients: NDArray[np.intp], is_attacker: NDArray[np.bool_]) -> Sent:
        """Return what the server gets from all clients, in their order, and what attackers keep."""
        world, run = self.world, self.world.run
        train = run.defence.train or run.task.train
        honest = self.train_clients(clients[~is_attacker], world.honest_examples, train)
        if not is_attacker.any():
            return Sent(*honest, attack=self.before.attack)
        attackers = Attackers(self, clients, is_attacker, honest)
        attacked, kept = attackers.sent()
        return Sent(*attackers.joined(attacked), attack=kept)

    @cached_property
    def _reference(self) -> NDArray[np.float32]:
        """The server's own update, from its root examples, in as many steps as the median client.

        With more steps the clients, each scaled to its length, would overshoot.
        """
        task, world = self.world.run.task, self.world
        pace: Any = {
            "epochs": task.epochs,
            "batch_size": task.batch_size,
            "smallest": world.smallest_batch,
        }
        taken = [n_steps_of(world.n_held(client), **pace) for client in self.sample().tolist()]
        examples = world.honest_examples(task.n_clients, self.number)
        root = self.shard(task.n_clients, examples, n_steps=int(np.median(taken)))
        return np.asarray(self.train(task.train, [root]).updates[0])

    def defend(self, clients: NDArray[np.intp], sent: Sent | Trained, defence: Defence) -> Defended:
        """Return what the server makes of the updates with this defence."""
        world, before, rule = self.world, self.before, defence.aggregate
        ids = self._ids(clients)
        weights = [world.n_held(client) for client in clients.tolist()]
        found = fitting(sent.updates, like=before.params, weights=weights, clients=ids)
        found = replace(found, rows=replace(found.rows, explain=True))
        if world.run.task.statistics == "sent":
            found = with_buffers(found, base=before.buffers, sent=sent.buffers)
        return defend_screened(
            found,
            rule,
            state=before.memory,
            reference=self._reference.copy() if rule.needs("reference") else None,
            rng=world.stream("rule", self.number),
            params=before.params.copy() if rule.needs("params") else None,
            watch=defence.watch,
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

    def train_clients(
        self, clients: NDArray[np.intp], examples: Callable[[int, int], Examples], train: Bound[Any]
    ) -> Trained:
        """Return what these clients send, each trained on its examples."""
        if len(clients) == 0:
            return Trained(np.empty((0, self.before.params.size), dtype=np.float32))
        shards = [self.shard(client, examples(client, self.number)) for client in clients.tolist()]
        return self.train(train, shards)

    def shard(self, client: int, examples: Examples, **steps: Any) -> Shard:
        """Return a client's examples in the order that it sees them in, with what it kept."""
        return self.world.shard(client, examples, self.number, memory=self.before.kept.get(client), **steps)

    def train(self, train: Bound[Any], shards: list[Shard]) -> Trained:
        """Return what these shards add to the global model."""
        before, n_together, span = self.before, self.world.run.task.n_together, self.world.data.span
        return self.crew.train(
            train,
            before.params,
            shards,
            buffers=before.buffers,
            n_together=n_together,
            span=span,
            previous=before.previous,
        )

    def evaluate(self, state: State) -> tuple[float, float | None, float | None]:
        """Return the accuracy on the test examples, the share of the challenge that gets the target, and the
        accuracy on the test examples as the minority has them.
        """
        world, predict = self.world, self.world.run.defence.predict

        # A server that is sent no statistics looks for the backdoor with those of its start.
        own = named_buffers(world.model) if world.run.task.statistics == "worker" else state.buffers

        def answers(x: Array, buffers: Mapping[str, Array] = state.buffers) -> tuple[Array, Array]:
            scores = self.crew.scores(state.params, buffers, x)
            is_broken = np.asarray(np.isnan(scores).reshape(len(x), -1).any(axis=1))
            return as_numbers(predict(scores), (len(x),), predict.name), is_broken

        def share(x: Array, y: Array) -> float:
            return float((answers(x)[0] == y).mean())

        def success(backdoor: Backdoor) -> float:
            # The highest of scores that are NaN is the first. A model that overflows has no backdoor.
            found, is_broken = answers(backdoor.challenge, own)
            return float(((found == backdoor.target) & ~is_broken).mean())

        y, backdoor, minority = world.data.y_test, world.armed(state.attack), world.minority_test
        return (
            share(world.data.x_test, y),
            None if backdoor is None else success(backdoor),
            None if minority is None else share(minority, y),
        )
