"""The formulas checked against the real rules: outcomes are counted, and compared in standard errors.

Rare outcomes are not waited for: the rule runs on every number of flips, and each outcome is weighted by the
exact chance of that number.
"""

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._support.counting import check_whole
from ..aggregators import fltrust
from .convergence import convergence, printed_convergence
from .failures import FLTRUST_THRESHOLD, fltrust_best_angle
from .laws import chance_of_more, gaussian_flip
from .one_dimension import (
    one_dimension,
    printed_p_minus,
    printed_p_plus_invariant,
    printed_p_plus_trimmed_mean,
    unequal_clients,
)
from .trials import CASES, Case, enumerate_outcomes, simulate_case

__all__ = ["Finding", "check_theory"]


@dataclass(frozen=True)
class Finding:
    """One formula beside what was measured."""

    statement: str
    event: str
    formula: float
    measured: float
    n_samples: int | None  # None: not sampled but counted, without an error
    printed: float | None = None  # what the paper's formula says

    @property
    def deviation(self) -> float:
        """The difference in standard errors; for a count, 0 if both agree to nine digits."""
        error = math.sqrt(self.formula * (1 - self.formula) / self.n_samples) if self.n_samples else 0.0
        if error == 0:
            return 0.0 if math.isclose(self.measured, self.formula, rel_tol=1e-9) else math.inf
        return (self.measured - self.formula) / error

    @property
    def holds(self) -> bool:
        """Whether the two are within four standard errors of each other."""
        return abs(self.deviation) <= 4


def check_theory(*, n_samples: int = 20_000, seed: int = 0) -> tuple[Finding, ...]:
    """Return every formula that can be checked, beside what the rules themselves do.

    >>> all(finding.holds for finding in check_theory(n_samples=500))
    True
    """
    check_whole("n_samples", n_samples, at_least=1)
    rng = np.random.default_rng(seed)
    return (*_single_dimension(n_samples, rng), *_other_statements(n_samples, rng))


def _single_dimension(n_samples: int, rng: np.random.Generator) -> Iterator[Finding]:
    for case in CASES:
        formula = one_dimension(case.sign_rule, n_attackers=case.n_attackers, flip=case.flip)
        p_minus, p_plus = float(formula.p_minus), float(formula.p_plus)
        printed_minus, printed_plus = _printed(case)
        honest, wrong = simulate_case(case, n_samples=n_samples, rng=rng)
        yield Finding(str(case), "p-", p_minus, honest, n_samples, printed_minus)
        if p_plus * n_samples >= 10:
            yield Finding(str(case), "p+", p_plus, wrong, n_samples, printed_plus)
        # The textbook formula, and not the logarithms that the theory uses.
        weighed = math.fsum(
            math.comb(case.n_honest, b) * case.flip**b * (1 - case.flip) ** (case.n_honest - b)
            for b, outcome in enumerate(enumerate_outcomes(case, rng=rng))
            if outcome in ("contested", "malicious")
        )
        yield Finding(str(case), "p+, by flips", p_plus, weighed, None, printed_plus)


def _printed(case: Case) -> tuple[float | None, float | None]:
    """Return the paper's p_minus and p_plus, where it prints any for this rule."""
    settings = dict(case.rule.settings)
    at: dict[str, Any] = {"n_clients": case.n_clients, "n_attackers": case.n_attackers}
    if "alpha" not in settings:
        return (None, None) if case.rule.name == "median" else (0.0, 1.0)
    if "tau" in settings:
        plus = printed_p_plus_invariant(case.flip, **at, tau=settings["tau"])
    else:
        plus = printed_p_plus_trimmed_mean(case.flip, **at, alpha=settings["alpha"])
    return float(printed_p_minus(case.flip, **at, alpha=settings["alpha"])), float(plus)


def _other_statements(n_samples: int, rng: np.random.Generator) -> Iterator[Finding]:
    def sampled(statement: str, event: str, formula: Any, happened: Any, printed: Any = None) -> Finding:
        return Finding(statement, event, float(formula), float(np.mean(happened)), n_samples, printed)

    case, flips = CASES[0], np.linspace(0.01, 0.2, 16)
    honest, _ = simulate_case(case, n_samples=n_samples, rng=rng, flips=flips)
    unequal = unequal_clients(case.sign_rule, flips=flips)
    yield sampled("the first of these, p from 0.01 to 0.2", "p-", unequal.p_minus, honest)

    flipped = rng.normal(1.0, 1.0, n_samples) < 0
    yield sampled("Gaussian noise as large as the mean", "flip", gaussian_flip(1, 1), flipped)

    drawn = rng.permuted(np.tile(np.arange(100) < 20, (n_samples, 1)), axis=1)[:, :20].sum(axis=1)
    more = chance_of_more(5, n_clients=100, n_malicious=20, n_per_round=20)
    yield sampled("20 of 100 drawn, 20 malicious", "more than 5", more, drawn > 5)

    walk: dict[str, Any] = {"n_rounds": 40, "distance": 1.0, "shortest": 0.1, "longest": 0.2}
    steps = rng.multinomial(40, [0.5147, 0.1, 0.3853], size=n_samples)
    arrived = steps[:, 0] * 0.1 - steps[:, 1] * 0.2 >= 1 - 1e-9
    exact, printed = (float(f(0.5147, 0.1, **walk)) for f in (convergence, printed_convergence))
    yield sampled("convergence in 40 rounds", "arrives", exact, arrived, printed)

    threshold = FLTRUST_THRESHOLD / math.pi
    yield Finding("fltrust, one attacker", "turned from angle/pi", threshold, _fltrust_turns(), None, 0.4)


def _fltrust_turns() -> float:
    """Return the smallest angle, over pi, at which an attacker turns the rule itself, by bisection."""
    low, high = 0.0, 0.5
    while high - low > 1e-12:
        middle = (low + high) / 2
        angle = middle * math.pi
        attack = float(fltrust_best_angle(angle))
        benign = np.array([-math.cos(angle), math.sin(angle)])
        clients = np.array([benign, [math.cos(attack), math.sin(attack)]])
        turned = fltrust(clients, reference=benign).update[0] > 0
        low, high = (low, middle) if turned else (middle, high)
    return high
