"""Federations of made-up clients: each has its own way, noise in every round, and some follow a plot."""

from dataclasses import dataclass, field

import numpy as np

from holdfast import factions
from holdfast.watching.memory import ClientMemory

__all__ = ["Federation", "told"]


@dataclass
class Federation:
    """Clients whose updates are made on demand; those of `plotters` are pushed the same way."""

    n: int = 30
    dim: int = 400
    n_plotters: int = 0
    seed: int = 0
    push: float = 1.0  # in deviations of a round's noise, in every coordinate
    plotters: tuple[int, ...] = field(init=False)

    def __post_init__(self):
        self.rng = np.random.default_rng([self.n, self.dim, self.seed])
        self.own = 0.5 * self.rng.normal(size=(self.n, self.dim))
        self.plot = self.push * self.rng.choice([-1.0, 1.0], size=self.dim)
        self.plotters = tuple(range(self.n_plotters))

    def updates(self, clients=None):
        """Return what the clients send in one round, by default all of them."""
        chosen = np.arange(self.n) if clients is None else np.asarray(clients)
        sent = self.own[chosen] + self.rng.normal(size=(len(chosen), self.dim))
        sent[np.isin(chosen, self.plotters)] += self.plot
        return sent.astype(np.float32)


def told(rounds, watch=None, state=None, seed=0):
    """Return all that a watch says of rounds, each (updates, ids)."""
    watch, said = watch or factions(), []
    for updates, clients in rounds:
        said.append(watch(updates, clients=clients, state=state, rng=np.random.default_rng(seed)))
        state = said[-1].state
        assert isinstance(state, ClientMemory)
    return said
