"""A small federation that really trains and writes its ledger, round by round."""

import numpy as np

from holdfast import defend, factions, trimmed_mean
from holdfast.ledger import open_ledger, record_round

ATTACKERS = ("eve", "mallory", "trudy")
HONEST = ("ann", "bob", "carl", "dora", "emil", "fay", "gus")
START = 1_763_400_000.0


class Federation:
    """Ten clients, three of whom push together, under a rule and a watch: every round is a real one."""

    def __init__(self, path, *, attackers=ATTACKERS, honest=HONEST, watch=True, dim=600, seed=0, **facts):
        self.path, self.attackers, self.honest = path, attackers, honest
        self.rng = np.random.default_rng(seed)
        self.push = np.sign(self.rng.normal(size=dim)) * 0.65
        self.ways = {}
        self.rule, self.watch = trimmed_mean(alpha=0.3), factions() if watch else None
        self.model, self.state, self.number = np.zeros(dim), None, 0
        with open_ledger(path) as ledger:
            ledger.begin(rule=str(self.rule), source="loop", **facts)

    def round(self, n=1, *, broken=(), at=None):
        """Train so many rounds; clients that are `broken` send no numbers."""
        for _ in range(n):
            self.number += 1
            sent = {client: self._update(client) for client in (*self.honest, *self.attackers)}
            sent |= {client: np.full_like(self.model, np.nan) for client in broken}
            watched = {} if self.watch is None else {"watch": self.watch}
            result = defend(sent, self.rule, like=self.model, state=self.state, **watched)
            self.state = result.state
            with open_ledger(self.path) as ledger:
                record_round(
                    ledger, result, round=self.number, rule=self.rule, watch=self.watch, seconds=0.25,
                    accuracy=1 - 0.5**self.number, loss=0.5**self.number,
                    at=START + 20 * self.number if at is None else at,
                )  # fmt: skip

    def _update(self, client):
        seed = int.from_bytes(client.encode()[:3], "big")
        way = self.ways.setdefault(client, 0.3 * np.random.default_rng(seed).normal(size=self.model.shape))
        own = way + self.rng.normal(size=self.model.shape)
        return own + self.push * (client in self.attackers)
