"""The rounds that a rule is tried on, and what it makes of them."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ...core import Memory, Rule
from ...defending import Defended, defend

__all__ = [
    "DIM",
    "Crowd",
    "N",
    "Undecided",
    "answer",
    "attacked",
    "crowd",
    "decided",
    "directions",
    "distance",
    "is_near",
]

Array = NDArray[Any]

#: How many clients a round has, and numbers an update, where nothing else is tried.
N, DIM = 10, 96


class Undecided(Exception):  # noqa: N818  (an outcome, not a mistake of the caller's)
    """The round left the model as it was; the message says why."""


@dataclass(frozen=True, eq=False)
class Crowd:
    """The updates of a made-up round, and what else a server may hand to a rule."""

    rows: Array  # (n_clients, dim)
    reference: Array  # the server's own update
    clients: Sequence[Any] | None = None
    counts: Sequence[float] | None = None

    @property
    def center(self) -> Array:
        """The mean of the rows, in float64."""
        return np.asarray(self.rows.mean(axis=0, dtype=np.float64))

    @property
    def spread(self) -> float:
        """How far the rows lie from their mean, as a root mean square: the unit of every distance."""
        away = self.rows.astype(np.float64) - self.center
        return float(np.sqrt((away**2).sum(axis=1).mean()))

    def inputs(self) -> dict[str, Any]:
        """Return all that a rule may ask for, to call it without a server around it."""
        n, dim = self.rows.shape
        return {
            "params": np.zeros(dim, self.rows.dtype),
            "weights": np.ones(n),
            "clients": tuple(range(n)),
            "reference": self.reference,
            "rng": np.random.default_rng(0),
        }

    def ordered(self, order: Array) -> "Crowd":
        """Return the same clients in another order."""
        counts = None if self.counts is None else [self.counts[row] for row in order]
        clients = None if self.clients is None else [self.clients[row] for row in order]
        return replace(self, rows=self.rows[order], clients=clients, counts=counts)


def crowd(n: int = N, dim: int = DIM, *, seed: int = 0) -> Crowd:
    """Return honest clients who share a direction and differ by half of it.

    >>> crowd(4, 5).rows.shape
    (4, 5)
    """
    rng = np.random.default_rng([seed, n, dim])
    shared = rng.normal(size=dim)
    rows = shared + 0.5 * rng.normal(size=(n, dim))
    return Crowd(rows.astype(np.float32), (shared + 0.1 * rng.normal(size=dim)).astype(np.float32))


def directions(honest: Crowd) -> dict[str, Array]:
    """Return the unit vectors in which attackers push: with the honest, against them, and elsewhere."""
    ahead = honest.center / np.linalg.norm(honest.center)
    aside = np.random.default_rng(99).normal(size=len(ahead))
    aside -= (aside @ ahead) * ahead
    along = np.zeros(len(ahead))
    along[np.abs(ahead).argmax()] = -np.sign(ahead[np.abs(ahead).argmax()])
    return {
        "with the honest clients": ahead,
        "against the honest clients": -ahead,
        "aside": aside / (np.linalg.norm(aside) or 1.0),
        "in one coordinate": along,
    }


def attacked(honest: Crowd, push: Array, size: float, n_attackers: int = 1) -> Crowd:
    """Return the round in which so many clients send the same, `size` spreads from the honest mean.

    They stand where no order puts them: not at the front, not at the back.

    >>> honest = crowd(4, 2)
    >>> bool((attacked(honest, np.array([1.0, 0.0]), 0.0).rows != honest.rows).any(axis=1).sum() == 1)
    True
    """
    rows = honest.rows.copy()
    places = np.random.default_rng([n_attackers, len(rows)]).permutation(len(rows))[:n_attackers]
    rows[places] = honest.center + size * honest.spread * push
    return replace(honest, rows=rows)


def decided(rule: Rule, sent: Crowd, *, seed: int = 0, state: Memory | None = None) -> Defended:
    """Return what a server makes of the round with this rule."""
    return defend(
        sent.rows,
        rule,
        like=np.zeros(sent.rows.shape[1], dtype=sent.rows.dtype),
        reference=sent.reference,
        clients=sent.clients,
        weights=sent.counts,
        rng=np.random.default_rng(seed),
        state=state,
    )


def answer(rule: Rule, sent: Crowd, *, seed: int = 0) -> Array:
    """Return the update that the rule makes of the round, in float64; raise Undecided if there is none.

    >>> from holdfast import median
    >>> answer(median, Crowd(np.array([[1.0], [2.0], [9.0]]), np.ones(1)))
    array([2.])
    """
    result = decided(rule, sent, seed=seed)
    if not result.diagnostics.aggregated:
        raise Undecided(result.diagnostics.notes[0])
    return np.asarray(result.update, dtype=np.float64)


def distance(one: Array, other: Array, sent: Crowd) -> float:
    """Return how far apart two updates are, in spreads of the honest clients."""
    return float(np.linalg.norm(one - other)) / sent.spread


def is_near(one: Array, other: Array, *, slack: float = 0.0) -> bool:
    """Return whether two updates differ by rounding alone, or by the slack.

    >>> is_near(np.ones(2), np.ones(2) + 1e-6), is_near(np.ones(2), np.array([1.0, 1.1]))
    (True, False)
    """
    largest = max(float(np.linalg.norm(one)), float(np.linalg.norm(other)))
    return bool(np.linalg.norm(one - other) <= 1e-4 * largest + slack)
