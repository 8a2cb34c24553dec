"""A few poisoned rounds of synthetic updates, aggregated by every rule: who is moved by the attackers?

Honest clients differ: they share a signal in most coordinates, each with more or less noise of its own,
and have only noise in the rest, which the task does not use. The attackers stay close to the honest average
in the first kind, so that they look trustworthy, and push together in the second: a backdoor hides there.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from .. import aggregators
from ..core import Aggregate, Bound, bind
from ..screening import defend

__all__ = ["N_ATTACKERS", "N_CLIENTS", "RULES", "Standing", "poisoned_rounds"]

Array = NDArray[np.float32]

N_CLIENTS, N_ATTACKERS = 20, 4
N_ROUNDS = 10
DIM, N_BACKDOOR = 20_000, 1_000  # coordinates in all, and those the task does not use
SIGNAL, NOISE, PUSH = 0.01, 0.01, 0.03

#: Every rule with its usual settings for this many clients and attackers.
RULES: tuple[Bound[Aggregate], ...] = (
    bind(aggregators.fedavg),
    bind(aggregators.krum, n_malicious=N_ATTACKERS),
    bind(aggregators.multi_krum, n_malicious=N_ATTACKERS),
    bind(aggregators.multi_krum_cosine, n_malicious=N_ATTACKERS),
    bind(aggregators.trimmed_mean),
    bind(aggregators.krum_trimmed_mean, n_malicious=N_ATTACKERS),
    bind(aggregators.median),
    bind(aggregators.sign_sgd, step=SIGNAL),
    bind(aggregators.norm_clipping),
    bind(aggregators.centered_clipping),
    bind(aggregators.weak_dp, sigma=SIGNAL / 4),
    bind(aggregators.rlr, threshold=2 * N_ATTACKERS),
    bind(aggregators.rfa),
    bind(aggregators.sparsefed),
    bind(aggregators.fltrust),
    bind(aggregators.and_mask),
    bind(aggregators.mean_variance_mask),
    bind(aggregators.invariant),
)


@dataclass(frozen=True)
class Standing:
    """How a rule stood: what it learned and what it let in, as shares of what plain averaging does.

    >>> Standing("median", learned=0.9, let_in=0.05).verdict
    'holds'
    """

    rule: str
    learned: float  # of what averaging learns from honest clients alone
    let_in: float  # of the backdoor that averaging lets in

    @property
    def verdict(self) -> str:
        """The result in a word or two."""
        if self.learned < 0.25:
            return "hardly learns"
        return "holds" if self.let_in < 0.25 else "is moved"


def poisoned_rounds(*, seed: int = 0) -> list[Standing]:
    """Return how every rule stands the same poisoned rounds.

    >>> by_rule = {standing.rule: standing for standing in poisoned_rounds()}
    >>> by_rule["fedavg"].verdict, by_rule["invariant"].verdict
    ('is moved', 'holds')
    """
    totals = {rule.name: _total_update(rule, seed) for rule in RULES}
    way = _way(seed)
    pushed = totals["fedavg"][:N_BACKDOOR] @ way[:N_BACKDOOR]
    learnable = SIGNAL * N_ROUNDS * (DIM - N_BACKDOOR)
    return [
        Standing(
            name,
            learned=float(total[N_BACKDOOR:] @ way[N_BACKDOOR:] / learnable),
            let_in=float(total[:N_BACKDOOR] @ way[:N_BACKDOOR] / pushed),
        )
        for name, total in totals.items()
    ]


def _way(seed: int) -> Array:
    """Return the direction of each coordinate: the attackers' in the first ones, the task's in the others."""
    return np.random.default_rng([seed, 0]).choice(np.array([-1, 1], dtype=np.float32), size=DIM)


def _round(seed: int, number: int) -> tuple[Array, Array]:
    """Return the clients' updates, the attackers' last, and what the server's own data says."""
    rng = np.random.default_rng([seed, 1, number])
    way = _way(seed)
    signal = np.where(np.arange(DIM) < N_BACKDOOR, 0, SIGNAL * way)
    attackers = slice(N_CLIENTS - N_ATTACKERS, N_CLIENTS)
    noise = rng.uniform(0.5, 1.5, size=(N_CLIENTS + 1, 1)) * NOISE
    noise[attackers] = 0.5 * NOISE
    rows = signal + noise * rng.normal(size=(N_CLIENTS + 1, DIM))
    rows[attackers, :N_BACKDOOR] += PUSH * way[:N_BACKDOOR]
    return rows[:N_CLIENTS].astype(np.float32), rows[N_CLIENTS].astype(np.float32)


def _total_update(rule: Bound[Aggregate], seed: int) -> Array:
    total, previous, state = np.zeros(DIM, dtype=np.float32), None, None
    for number in range(N_ROUNDS):
        updates, reference = _round(seed, number)
        rng = np.random.default_rng([seed, 2, number])
        result = defend(updates, rule, state=state, previous=previous, reference=reference, rng=rng)
        total, previous, state = total + result.update, result.update, result.state
    return total
