import numpy as np
import pytest

from holdfast import and_mask, fedavg, invariant, median, theory, trimmed_mean
from holdfast.theory.trials import CASES, Case, enumerate_outcomes, simulate_case

ROUNDS = ((20, 4, 0.05), (20, 4, 0.3), (15, 2, 0.2), (7, 2, 0.4), (8, 0, 0.1), (9, 5, 0.2))


def cases():
    for attack in ROUNDS:
        for tau in (0.2, 0.5, 0.6):
            for strict in (False, True):
                yield Case(invariant(tau=tau, alpha=0.25, strict=strict), *attack)
        for rule in (
            invariant(tau=0.6, alpha=0.45),
            trimmed_mean(alpha=0.25),
            median,
            fedavg,
            and_mask(tau=0.5),
        ):
            yield Case(rule, *attack)


GRID = tuple(cases())
N_SAMPLES = 4_000


def within_four_standard_errors(measured, formula):
    return abs(measured - formula) <= 4 * np.sqrt(formula * (1 - formula) / N_SAMPLES) + 1e-12


@pytest.mark.parametrize("case", GRID, ids=str)
def test_the_real_rule_does_what_the_exact_formula_says(case):
    formula = theory.one_dimension(case.sign_rule, n_attackers=case.n_attackers, flip=case.flip)
    honest, wrong = simulate_case(case, n_samples=N_SAMPLES, rng=np.random.default_rng(7))
    assert within_four_standard_errors(honest, formula.p_minus)
    assert within_four_standard_errors(wrong, formula.p_plus)


@pytest.mark.parametrize("case", GRID, ids=str)
def test_the_real_rule_has_the_outcome_that_each_number_of_flips_must_have(case):
    expected = theory.outcome_by_flips(case.sign_rule, n_attackers=case.n_attackers)
    assert enumerate_outcomes(case, rng=np.random.default_rng(8)) == expected.tolist()


def test_clients_of_unequal_noise_follow_the_poisson_binomial_law():
    flips, rng = np.linspace(0.02, 0.35, 16), np.random.default_rng(9)
    for case in CASES[:4]:
        formula = theory.unequal_clients(case.sign_rule, flips=flips)
        honest, wrong = simulate_case(case, n_samples=N_SAMPLES, rng=rng, flips=flips)
        assert within_four_standard_errors(honest, formula.p_minus)
        assert within_four_standard_errors(wrong, formula.p_plus)


def test_rounds_with_drawn_attackers_follow_the_averaged_law():
    rule, rng = invariant(tau=0.5, alpha=0.45), np.random.default_rng(10)
    attackers = np.bincount(rng.hypergeometric(20, 80, 20, N_SAMPLES), minlength=21)
    honest = sum(
        n * simulate_case(Case(rule, 20, count, 0.1), n_samples=n, rng=rng)[0]
        for count, n in enumerate(attackers.tolist())
        if n
    )
    federation = theory.Federation(n_clients=100, n_malicious=20, n_per_round=20, flip=0.1)
    formula = theory.Assessment.of(federation, tau=0.5, alpha=0.45)
    assert within_four_standard_errors(honest / N_SAMPLES, formula.learns)
