"""Bounds and certificates: numbers in, numbers out, vectorised. No simulation.

>>> from holdfast import theory
>>> rule = theory.invariant_rule(20, tau=0.6, alpha=0.25)
>>> print(theory.one_dimension(rule, n_attackers=4, flip=0.1).p_minus.round(4))
0.1853
"""

from .convergence import attack_loss_floor, convergence, printed_convergence
from .failures import (
    FLTRUST_THRESHOLD,
    fltrust_advantage,
    fltrust_best_advantage,
    fltrust_best_angle,
    fltrust_trust,
    gradient_gap,
    inversion_flatness,
    mimicry_cost,
    overwrite_threshold,
)
from .flips import cantelli_flip, gaussian_flip, printed_flip
from .laws import binomial, hypergeometric, poisson_binomial
from .one_dimension import Chances, chances_of, one_dimension, unequal_clients
from .printed import printed_p_minus, printed_p_plus_invariant, printed_p_plus_trimmed_mean
from .rules import (
    OUTCOMES,
    SignRule,
    invariant_rule,
    mean_rule,
    median_rule,
    outcome_by_flips,
    outcomes,
    trimmed_mean_rule,
)
from .sampling import chance_of_more, over_rounds, sampled_clients, values_against

__all__ = [
    "FLTRUST_THRESHOLD",
    "OUTCOMES",
    "Chances",
    "SignRule",
    "attack_loss_floor",
    "binomial",
    "cantelli_flip",
    "chance_of_more",
    "chances_of",
    "convergence",
    "fltrust_advantage",
    "fltrust_best_advantage",
    "fltrust_best_angle",
    "fltrust_trust",
    "gaussian_flip",
    "gradient_gap",
    "hypergeometric",
    "invariant_rule",
    "inversion_flatness",
    "mean_rule",
    "median_rule",
    "mimicry_cost",
    "one_dimension",
    "outcome_by_flips",
    "outcomes",
    "over_rounds",
    "overwrite_threshold",
    "poisson_binomial",
    "printed_convergence",
    "printed_flip",
    "printed_p_minus",
    "printed_p_plus_invariant",
    "printed_p_plus_trimmed_mean",
    "sampled_clients",
    "trimmed_mean_rule",
    "unequal_clients",
    "values_against",
]
