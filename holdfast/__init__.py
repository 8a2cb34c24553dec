"""holdfast: federated training that holds fast against backdoors.

>>> import numpy as np
>>> from holdfast import defend, invariant
>>> updates = np.array([[1.0, 0.2], [1.1, -0.1], [0.9, 0.1], [1.2, -0.2], [-80.0, 5.0]])
>>> defend(updates, invariant).update  # the attacker, last, has no say
array([1., 0.])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .aggregators.and_mask import and_mask
    from .aggregators.centered_clipping import centered_clipping
    from .aggregators.fedavg import fedavg
    from .aggregators.fltrust import fltrust
    from .aggregators.invariant import PUBLISHED, invariant
    from .aggregators.krum import krum
    from .aggregators.krum_trimmed_mean import krum_trimmed_mean
    from .aggregators.mean_variance_mask import mean_variance_mask
    from .aggregators.median import median
    from .aggregators.multi_krum import multi_krum
    from .aggregators.multi_krum_cosine import multi_krum_cosine
    from .aggregators.norm_clipping import norm_clipping
    from .aggregators.rfa import rfa
    from .aggregators.rlr import rlr
    from .aggregators.sign_sgd import sign_sgd
    from .aggregators.sparsefed import SparseFedState, sparsefed
    from .aggregators.trimmed_mean import trimmed_mean
    from .aggregators.weak_dp import weak_dp
    from .core import INPUTS, Aggregate, Bound, bind
    from .diagnostics import Diagnostics, Dropped
    from .errors import DataError, HoldfastError, InputError, NonFiniteError, TooFewClientsError
    from .screening import Screened, defend, screen
    from .theory.adviser import Advice, advise
    from .updates.rows import Rows, Updates, rows_of

__version__ = "0.1.0"

__all__ = [
    "INPUTS",
    "PUBLISHED",
    "Advice",
    "Aggregate",
    "Bound",
    "DataError",
    "Diagnostics",
    "Dropped",
    "HoldfastError",
    "InputError",
    "NonFiniteError",
    "Rows",
    "Screened",
    "SparseFedState",
    "TooFewClientsError",
    "Updates",
    "__version__",
    "advise",
    "and_mask",
    "bind",
    "centered_clipping",
    "defend",
    "fedavg",
    "fltrust",
    "invariant",
    "krum",
    "krum_trimmed_mean",
    "mean_variance_mask",
    "median",
    "multi_krum",
    "multi_krum_cosine",
    "norm_clipping",
    "rfa",
    "rlr",
    "rows_of",
    "screen",
    "sign_sgd",
    "sparsefed",
    "trimmed_mean",
    "weak_dp",
]

#: Where a public name lives. A module is imported when one of its names is first used, so that
#: `import holdfast` is quick; names that are not listed here are rules.
_HOMES = {
    "Advice": "theory.adviser",
    "advise": "theory.adviser",
    "PUBLISHED": "aggregators.invariant",
    "SparseFedState": "aggregators.sparsefed",
    "INPUTS": "core",
    "Aggregate": "core",
    "Bound": "core",
    "bind": "core",
    "Diagnostics": "diagnostics",
    "Dropped": "diagnostics",
    "DataError": "errors",
    "HoldfastError": "errors",
    "InputError": "errors",
    "NonFiniteError": "errors",
    "TooFewClientsError": "errors",
    "Screened": "screening",
    "defend": "screening",
    "screen": "screening",
    "Rows": "updates",
    "Updates": "updates",
    "rows_of": "updates",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'aggregators')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return __all__
