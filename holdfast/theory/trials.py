"""Made-up rounds under attack, and the real rules run on them: what the formulas are checked against."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from .._support.counting import votes_needed
from ..aggregators import and_mask, fedavg, invariant, median, trimmed_mean
from ..core import Rule
from .one_dimension import SignRule, invariant_rule, median_rule, trimmed_mean_rule

__all__ = ["CASES", "Case", "enumerate_outcomes", "simulate_case"]

#: The outcome, by the way that a coordinate moves under heavy and under light values of the attackers' side.
OUTCOME = {(1, 1): "benign", (-1, 1): "contested", (0, 0): "zeroed", (-1, -1): "malicious"}


@dataclass(frozen=True)
class Case:
    """A rule and a round to try it on."""

    rule: Rule
    n_clients: int
    n_attackers: int
    flip: float

    def __str__(self) -> str:
        """Return the rule and the round, for a table."""
        rule = str(self.rule).replace(", strict=False", "").removesuffix("()")
        return f"{rule}, {self.n_attackers} of {self.n_clients}, p={self.flip:g}"

    @property
    def n_honest(self) -> int:
        """The number of honest clients."""
        return self.n_clients - self.n_attackers

    @property
    def sign_rule(self) -> SignRule:
        """The rule as the theorem sees it."""
        settings: dict[str, Any] = dict(self.rule.settings)
        match self.rule.name:
            case "invariant":
                return invariant_rule(self.n_clients, **settings)
            case "trimmed_mean":
                return trimmed_mean_rule(self.n_clients, **settings)
            case "median":
                return median_rule(self.n_clients)
            case "and_mask":
                return SignRule(self.n_clients, n_votes=votes_needed(settings["tau"], self.n_clients))
            case _:
                return SignRule(self.n_clients)


#: The theorem's setting, the paper's three, and the rules it is compared with.
CASES = (
    Case(invariant(tau=0.5, alpha=0.25), 20, 4, 0.1),
    Case(invariant(tau=0.5, alpha=0.25, strict=True), 20, 4, 0.1),
    Case(invariant(tau=0.2, alpha=0.25), 20, 4, 0.1),
    Case(invariant(tau=0.6, alpha=0.25), 20, 4, 0.1),
    Case(invariant(tau=0.6, alpha=0.25), 15, 2, 0.2),
    Case(trimmed_mean(alpha=0.25), 20, 4, 0.1),
    Case(median, 20, 4, 0.1),
    Case(trimmed_mean(alpha=0.25), 15, 2, 0.2),
    Case(median, 15, 2, 0.2),
    Case(and_mask(tau=0.5), 20, 4, 0.1),
    Case(fedavg, 20, 4, 0.1),
)


def simulate_case(
    case: Case, *, n_samples: int, rng: np.random.Generator, flips: ArrayLike | None = None
) -> tuple[float, float]:
    """Return the shares of random coordinates that the rule moves the honest way and the attackers' way.

    These estimate p_minus and p_plus. `flips` gives each honest client its own chance.
    """
    chances = np.broadcast_to(case.flip if flips is None else np.asarray(flips), case.n_honest)
    flipped = rng.random((case.n_honest, n_samples)) < chances[:, np.newaxis]
    signs = _signs(case, flipped, heavy=True, rng=rng)
    return float((signs > 0).mean()), float((signs < 0).mean())


def enumerate_outcomes(case: Case, *, rng: np.random.Generator) -> list[str]:
    """Run the rule on 0, 1, 2, ... flipped honest clients, and return the outcome of each."""
    flipped = np.arange(case.n_honest)[:, np.newaxis] < np.arange(case.n_honest + 1)
    heavy, light = (_signs(case, flipped, heavy=heavy, rng=rng).tolist() for heavy in (True, False))
    return [OUTCOME[pair] for pair in zip(heavy, light, strict=True)]


def _signs(
    case: Case, flipped: NDArray[np.bool_], *, heavy: bool, rng: np.random.Generator
) -> NDArray[np.float64]:
    """Return the sign of each coordinate of the rule's update: 1 is the honest way.

    Honest clients that are not flipped are positive, all others negative. Magnitudes decide what is
    contested: if heavy, one value of the attackers' side outweighs all others; if not, it weighs next to
    nothing. Rows are shuffled, because a rule must not depend on their order.
    """
    against = np.vstack([flipped, np.ones((case.n_attackers, flipped.shape[1]), dtype=bool)])
    sizes, weight = rng.uniform(1, 2, against.shape), 100.0 * case.n_clients
    updates = np.where(against, -sizes * (weight if heavy else 1 / weight), sizes)
    return np.asarray(np.sign(case.rule(rng.permutation(updates)).update))
