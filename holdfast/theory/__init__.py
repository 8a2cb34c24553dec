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
    inversion_flatness,
    mimicry_cost,
    overwrite_threshold,
)
from .federation import Assessment, Federation
from .laws import cantelli_flip, chance_of_more, gaussian_flip, over_rounds, printed_flip
from .one_dimension import (
    Chances,
    SignRule,
    invariant_rule,
    median_rule,
    one_dimension,
    outcome_by_flips,
    printed_p_minus,
    printed_p_plus_invariant,
    printed_p_plus_trimmed_mean,
    trimmed_mean_rule,
    unequal_clients,
)
from .verification import Finding, check_theory

__all__ = [
    "FLTRUST_THRESHOLD",
    "Advice",
    "Assessment",
    "Chances",
    "Federation",
    "Finding",
    "SignRule",
    "advise",
    "attack_loss_floor",
    "cantelli_flip",
    "chance_of_more",
    "check_theory",
    "convergence",
    "fltrust_advantage",
    "fltrust_best_advantage",
    "fltrust_best_angle",
    "gaussian_flip",
    "invariant_rule",
    "inversion_flatness",
    "median_rule",
    "mimicry_cost",
    "one_dimension",
    "outcome_by_flips",
    "over_rounds",
    "overwrite_threshold",
    "printed_convergence",
    "printed_flip",
    "printed_p_minus",
    "printed_p_plus_invariant",
    "printed_p_plus_trimmed_mean",
    "trimmed_mean_rule",
    "unequal_clients",
]
