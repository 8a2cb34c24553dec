"""What the paper's theorems say, exact and as printed; the adviser; the check against the rules themselves.

>>> from holdfast import theory
>>> rule = theory.invariant_rule(20, tau=0.6, alpha=0.25)
>>> print(theory.one_dimension(rule, n_attackers=4, flip=0.1).p_minus.round(4))
0.1853
"""

from .adviser import Advice, advise
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
from .federation import Assessment, Federation
from .laws import (
    binomial,
    cantelli_flip,
    gaussian_flip,
    hypergeometric,
    poisson_binomial,
    printed_flip,
)
from .one_dimension import (
    Chances,
    chances_of,
    one_dimension,
    printed_p_minus,
    printed_p_plus_invariant,
    printed_p_plus_trimmed_mean,
    unequal_clients,
)
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
from .verification import Finding, check_theory

__all__ = [
    "FLTRUST_THRESHOLD",
    "OUTCOMES",
    "Advice",
    "Assessment",
    "Chances",
    "Federation",
    "Finding",
    "SignRule",
    "advise",
    "attack_loss_floor",
    "binomial",
    "cantelli_flip",
    "chance_of_more",
    "chances_of",
    "check_theory",
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
