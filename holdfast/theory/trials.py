"""Made-up rounds under attack, and the real rules run on them: what the formulas are checked against."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from ..aggregators import and_mask, fedavg, invariant, median, trimmed_mean
from ..core import Rule
from .rules import SignRule, invariant_rule, mean_rule, median_rule, trimmed_mean_rule

__all__ = ["CASES", "Case", "attacked_coordinates", "enumerate_outcomes", "simulate_case"]

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Case:
    """A rule, the same rule as the theorem sees it, and a round to try it on.

    >>> print(CASES[0])
    invariant(tau=0.5, alpha=0.25), 4 of 20, p=0.1
    """

    rule: Rule
    sign_rule: SignRule
    n_attackers: int
    flip: float

    def __str__(self) -> str:
        """Return the rule and the round, for a table."""
        rule = str(self.rule).replace(", strict=False", "").removesuffix("()")
        return f"{rule}, {self.n_attackers} of {self.sign_rule.n_clients}, p={self.flip:g}"


def _cases() -> Iterator[Case]:
    def invariant_case(n: int, n_attackers: int, flip: float, tau: float, strict: bool = False) -> Case:
        settings: dict[str, Any] = {"tau": tau, "alpha": 0.25, "strict": strict}
        return Case(invariant(**settings), invariant_rule(n, **settings), n_attackers, flip)

    yield invariant_case(20, 4, 0.1, 0.5)
    yield invariant_case(20, 4, 0.1, 0.5, strict=True)
    yield invariant_case(20, 4, 0.1, 0.2)
    yield invariant_case(20, 4, 0.1, 0.6)
    yield invariant_case(15, 2, 0.2, 0.6)
    for n, n_attackers, flip in ((20, 4, 0.1), (15, 2, 0.2)):
        yield Case(trimmed_mean(alpha=0.25), trimmed_mean_rule(n, alpha=0.25), n_attackers, flip)
        yield Case(median, median_rule(n), n_attackers, flip)
    masked = SignRule(20, n_votes=invariant_rule(20, tau=0.5, alpha=0).n_votes)
    yield Case(and_mask(tau=0.5), masked, 4, 0.1)
    yield Case(fedavg, mean_rule(20), 4, 0.1)


#: The theorem's setting, the paper's three, and the rules it is compared with.
CASES = tuple(_cases())


def attacked_coordinates(
    flipped: NDArray[np.bool_], *, n_attackers: int, harsh: bool, rng: np.random.Generator
) -> Array:
    """Return updates in which the honest clients that are not flipped are positive, all others negative.

    Magnitudes decide what is contested: if harsh, one value of the attackers' side outweighs all others;
    if not, it weighs next to nothing. Rows are shuffled, because a rule must not depend on their order.

    >>> flipped = np.array([[False, True], [False, False]])
    >>> updates = attacked_coordinates(flipped, n_attackers=1, harsh=True, rng=np.random.default_rng(0))
    >>> np.sign(updates).sum(axis=0)
    array([ 1., -1.])
    """
    against = np.vstack([flipped, np.ones((n_attackers, flipped.shape[1]), dtype=bool)])
    heavy = 100.0 * len(against)
    sizes = rng.uniform(1, 2, against.shape)
    return rng.permutation(np.where(against, -sizes * (heavy if harsh else 1 / heavy), sizes))


def simulate_case(
    case: Case,
    *,
    n_samples: int,
    rng: np.random.Generator,
    harsh: bool = True,
    flips: ArrayLike | None = None,
) -> tuple[float, float]:
    """Return the shares of random coordinates that the rule moves the honest way and the attackers' way.

    Under harsh magnitudes these estimate p_minus and p_plus; under mild ones, what is contested goes the
    honest way. `flips` gives each honest client its own chance.

    >>> simulate_case(CASES[-1], n_samples=100, rng=np.random.default_rng(0))
    (0.0, 1.0)
    """
    n_honest = case.sign_rule.n_clients - case.n_attackers
    chances = np.broadcast_to(case.flip if flips is None else np.asarray(flips), n_honest)
    flipped = rng.random((n_honest, n_samples)) < chances[:, np.newaxis]
    moved = _moved(case, flipped, harsh=harsh, rng=rng)
    return float((moved > 0).mean()), float((moved < 0).mean())


def enumerate_outcomes(case: Case, *, rng: np.random.Generator) -> NDArray[np.str_]:
    """Run the rule on 0, 1, 2, ... flipped honest clients, and return the outcome of each.

    >>> enumerate_outcomes(CASES[-1], rng=np.random.default_rng(0))[[0, -1]]
    array(['contested', 'malicious'], dtype='<U10')
    """
    n_honest = case.sign_rule.n_clients - case.n_attackers
    flipped = np.arange(n_honest)[:, np.newaxis] < np.arange(n_honest + 1)
    harsh, mild = (np.sign(_moved(case, flipped, harsh=harsh, rng=rng)) for harsh in (True, False))
    return np.select(
        [
            (harsh > 0) & (mild > 0),
            (harsh < 0) & (mild < 0),
            (harsh < 0) & (mild > 0),
            (harsh == 0) & (mild == 0),
        ],
        ["benign", "malicious", "contested", "zeroed"],
        default="impossible",
    )


def _moved(case: Case, flipped: NDArray[np.bool_], *, harsh: bool, rng: np.random.Generator) -> Array:
    updates = attacked_coordinates(flipped, n_attackers=case.n_attackers, harsh=harsh, rng=rng)
    return np.asarray(case.rule(updates).update)
