"""The attackers' half of a round: they learn their trigger, train, and make of it what they send."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ...core import Bound
from ...defending import Defended
from ..attacks import Backdoor, Crafted
from ..lazy_torch import torch
from ..models import named_params
from ..training.schedule import Kept, Shard, Trained
from .checking import as_kept, as_numbers, unwritable
from .world import Examples, join_examples

if TYPE_CHECKING:
    from .round import Round

__all__ = ["Attackers"]

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class Attackers:
    """The attackers of a round, and what the honest clients beside them send."""

    round: Round
    clients: NDArray[np.intp]  # all of the round
    is_attacker: NDArray[np.bool_]
    honest: Trained

    def sent(self) -> tuple[Trained, Mapping[str, Kept]]:
        """Return what the attackers send, and what they keep for their next round."""
        one, attack = self.round, self.round.world.run.attack
        kept = dict(one.before.attack)
        if one.world.backdoor is not None and one.world.backdoor.learn is not None:
            _keep(kept, "trigger", self._learned(one.world.backdoor.learn, kept.get("trigger")))
        backdoor = one.world.armed(kept)
        train = attack.train or one.world.run.task.train
        trained = self._collude(backdoor, train) if attack.colludes else self._train_apart(backdoor, train)
        known, updates = self._known(backdoor, train), trained.updates
        for position, craft in enumerate(attack.crafts):
            own, rng = f"craft{position}", one.world.stream("craft", one.number, position)
            made = craft(updates, **known, state=kept.get(own), rng=rng)
            if isinstance(made, Crafted):
                made, state = made
                _keep(kept, own, as_kept(state, craft.name))
            updates = as_numbers(made, updates.shape, craft.name)
        return trained._replace(updates=updates), kept

    @property
    def ids(self) -> NDArray[np.intp]:
        """Who attacks in this round."""
        return self.clients[self.is_attacker]

    def joined(self, attacked: Trained) -> Trained:
        """Return what all clients send, in their order."""
        honest, bad = self.honest, self.is_attacker
        updates = np.empty((len(self.clients), honest.updates.shape[1]), dtype=np.float32)
        updates[~bad], updates[bad] = honest.updates, attacked.updates
        return Trained(
            updates,
            _in_order(bad, honest.buffers, attacked.buffers),
            _in_order(bad, honest.memory, attacked.memory),
        )

    def _learned(self, learn: Callable[..., Kept], kept: Kept | None) -> Kept | None:
        """Return what the attackers now know of their trigger, from a copy of the global network."""
        one = self.round
        model = one.crew.network(one.before.params, one.before.buffers)
        x, y = self._own_examples()
        learned = learn(model, x, y, kept, one.world.stream("trigger", one.number))
        return as_kept(learned, f"what {one.world.run.attack.backdoor.name} learns")

    def _own_examples(self) -> Examples:
        """Return the honest examples of all attackers of the round."""
        number, honest = self.round.number, self.round.world.honest_examples
        return join_examples(*(honest(client, number) for client in self.ids.tolist()))

    def _train_apart(self, backdoor: Backdoor | None, train: Bound[Any]) -> Trained:
        """Return what each attacker's training adds."""
        return self.round.train(train, [self._shard([client], backdoor) for client in self.ids.tolist()])

    def _collude(self, backdoor: Backdoor | None, train: Bound[Any]) -> Trained:
        """Return the first attacker's update for all: on the examples of all, in the steps of one."""
        world, n = self.round.world, len(self.ids)
        pooled = self._shard(self.ids.tolist(), backdoor, world.n_held(int(self.ids[0])))
        alone = self.round.train(train, [pooled])
        return Trained(np.repeat(alone.updates, n, axis=0), alone.buffers * n, alone.memory * n)

    def _shard(self, clients: list[int], backdoor: Backdoor | None, n_seen: int | None = None) -> Shard:
        """Return the first client's shard with the examples of all, seen in the steps that so many take."""
        one = self.round
        parts = [one.world.attacking_examples(client, one.number, backdoor) for client in clients]
        flags = [
            np.arange(len(y)) >= one.world.n_held(client)
            for client, (_, y) in zip(clients, parts, strict=True)
        ]
        pooled = join_examples(*parts)
        epochs = one.world.run.task.epochs
        is_poisoned = np.concatenate(flags)
        if one.world.run.attack.poison_per_batch:
            return self._replacing(clients[0], pooled, is_poisoned, n_seen)
        steps = {} if n_seen is None else {"epochs": epochs * n_seen / len(pooled[1])}
        return one.shard(clients[0], pooled, **steps)._replace(poisoned=is_poisoned)

    def _replacing(
        self, client: int, pooled: Examples, is_poisoned: NDArray[np.bool_], n_seen: int | None
    ) -> Shard:
        """Return a shard of batches of clean examples, the last of each replaced by poisoned ones."""
        one, (x, y) = self.round, pooled
        task, per_batch = one.world.run.task, one.world.run.attack.poison_per_batch
        clean, poisoned = np.flatnonzero(~is_poisoned), np.flatnonzero(is_poisoned)
        steps = {} if n_seen is None else {"epochs": task.epochs * n_seen / len(clean)}
        honest = one.shard(client, (x[clean], y[clean]), **steps)
        drawn = one.world.stream("poison", client, one.number, 1).permutation(poisoned)
        batches = np.full_like(honest.batches, -1)
        for number, (row, batch) in enumerate(zip(batches, honest.batches, strict=True)):
            kept = clean[batch[batch >= 0]][: task.batch_size - per_batch]
            bad = drawn[number * per_batch : (number + 1) * per_batch]
            row[: len(kept) + len(bad)] = np.concatenate([kept, bad])
        return honest._replace(x=x, y=y, batches=batches, poisoned=is_poisoned)

    def _known(self, backdoor: Backdoor | None, train: Bound[Any]) -> dict[str, Any]:
        """Return what crafts may ask for; what takes work is done only for those that do."""
        one, ids = self.round, self.ids
        crafts = one.world.run.attack.crafts
        known: dict[str, Any] = {
            "previous": one.before.previous,
            "params": one.before.params,
            "benign": self.honest.updates,
            "attackers": ids,
            "round": one.number,
            "server": self._server,
        }
        if any(craft.needs("rehearsal") for craft in crafts):
            known["rehearsal"] = one.train_clients(ids, one.world.honest_examples, train).updates
        if any(craft.needs("trial") for craft in crafts):
            known["trial"] = self._trial(backdoor)
        if any(craft.needs("layers") for craft in crafts):
            known["layers"] = _layers(one)
        return {
            name: unwritable(value) if isinstance(value, np.ndarray) else value
            for name, value in known.items()
        }

    def _server(self, rows: Array) -> Defended:
        """Return what the server would make of the round if the attackers sent these rows."""
        one = self.round
        updates = as_numbers(rows, (len(self.ids), one.before.params.size), "an attacker who asks the server")
        buffers = self.honest.buffers[:1] * len(self.ids)  # a guess: what an honest client has
        sent = self.joined(Trained(updates.astype(np.float32), buffers))
        with _silence():
            return one.defend(self.clients, sent, one.world.run.defence)

    def _trial(self, backdoor: Backdoor | None) -> Callable[[Array], tuple[float, float]]:
        """Return how good a model with an update is, on the attackers' own and on their poisoned examples."""
        one = self.round
        x, y = (part.cpu().numpy() for part in self._own_examples())
        bad = join_examples(*(one.world.poison(backdoor, client, one.number) for client in self.ids.tolist()))
        bad_x, bad_y = (part.cpu().numpy() for part in bad)

        def share(params: NDArray[np.float32], inputs: Array, labels: Array) -> float:
            if len(labels) == 0:
                return 0.0
            scores = one.crew.scores(params, one.before.buffers, inputs)
            return float((scores.argmax(axis=1) == labels).mean())

        def trial(update: Array) -> tuple[float, float]:
            params = one.before.params + np.asarray(update, dtype=np.float32)
            return share(params, x, y), share(params, bad_x, bad_y)

        return trial


def _keep(kept: dict[str, Kept], part: str, now: Kept | None) -> None:
    """Put down what a part of the attack keeps from now on; nothing, if that is what it keeps."""
    kept.pop(part, None)
    if now is not None:
        kept[part] = now


def _layers(one: Round) -> tuple[tuple[str, slice], ...]:
    """Return where each tensor of the network lies in flat params."""
    places = named_params(one.world.model, torch.arange(one.before.params.size))
    flat = {name: part.reshape(-1) for name, part in places.items()}
    return tuple((name, slice(int(part[0]), int(part[-1]) + 1)) for name, part in flat.items())


@contextmanager
def _silence() -> Iterator[None]:
    """Keep what a server says in an attacker's thoughts out of the log."""
    logs = [logging.getLogger(name) for name in ("holdfast", "holdfast.rounds", "holdfast.verdicts")]
    before = [log.disabled for log in logs]
    for log in logs:
        log.disabled = True
    try:
        yield
    finally:
        for log, was in zip(logs, before, strict=True):
            log.disabled = was


def _in_order(is_attacker: NDArray[np.bool_], honest: tuple[Any, ...], attacked: tuple[Any, ...]) -> Any:
    """Return what honest clients and attackers have, in the order of all; None where one has nothing."""
    queues = iter(honest), iter(attacked)
    return tuple(next(queues[bad], None) for bad in is_attacker.tolist())
