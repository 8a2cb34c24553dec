"""holdfast: federated training that holds fast against backdoors.

>>> import numpy as np
>>> from holdfast import defend, invariant
>>> updates = np.array([[1.0, 0.2], [1.1, -0.1], [0.9, 0.1], [1.2, -0.2], [-80.0, 5.0]])
>>> defend(updates, invariant(tau=0.6)).update  # the attacker, last, has no say
array([1., 0.])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .aggregators.and_mask import and_mask
    from .aggregators.centered_clipping import centered_clipping
    from .aggregators.fedavg import fedavg
    from .aggregators.flame import flame
    from .aggregators.fltrust import fltrust
    from .aggregators.invariant import invariant
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
    from .aggregators.sparsefed import sparsefed
    from .aggregators.trimmed_mean import trimmed_mean
    from .aggregators.weak_dp import weak_dp
    from .core import Aggregate, Diagnostics, rule
    from .defending import Defended, defend
    from .defending.screening import screen
    from .errors import HoldfastError, InputError
    from .theory.adviser import advise
    from .watching import factions

__version__ = "0.4.0"

__all__ = [
    "Aggregate",
    "Defended",
    "Diagnostics",
    "HoldfastError",
    "InputError",
    "__version__",
    "advise",
    "and_mask",
    "centered_clipping",
    "defend",
    "factions",
    "fedavg",
    "flame",
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
    "rule",
    "screen",
    "sign_sgd",
    "sparsefed",
    "trimmed_mean",
    "weak_dp",
]

#: Where a public name lives; those that are not listed here are rules. A module is imported when one of its
#: names is first used, so that `import holdfast` is quick.
_HOMES = {
    "Aggregate": "core",
    "rule": "core",
    "Defended": "defending",
    "defend": "defending",
    "Diagnostics": "core",
    "HoldfastError": "errors",
    "InputError": "errors",
    "screen": "defending.screening",
    "advise": "theory.adviser",
    "factions": "watching",
}


def __getattr__(name: str) -> Any:
    """Import a public name on first use."""
    if name not in __all__:
        if not name.startswith("_") and name in import_module(f"{__name__}.aggregators").__all__:
            # An AttributeError would not be shown to whoever writes `from holdfast import ...`.
            raise ImportError(f"{name} is not in holdfast itself: from holdfast.aggregators import {name}")
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(f"{__name__}.{_HOMES.get(name, 'aggregators')}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """Return the public names, imported or not."""
    return __all__
