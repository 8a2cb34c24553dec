"""A rehearsal: rule and watch run once on made-up rows: a wrong setting fails before anybody trains."""

from functools import lru_cache
from typing import Any

import numpy as np

from ..core import Bound, Rule, Watch, bind
from ..errors import HoldfastError, InputError, NonFiniteError, TooFewClientsError
from ..updates.rows import rows_of

__all__ = ["rehearse"]

#: Rows and columns of the made-up round. Rules that assume attackers get more rows, up to a limit.
N_ROWS, N_COLUMNS, N_ASSUMED = 11, 16, 50


@lru_cache(maxsize=256)
def rehearse(chosen: Rule | Watch) -> None:
    """Raise an InputError if a rule or a watch of holdfast's cannot run with its settings.

    Whether there are enough clients for it is seen in the round. A function of the user's own is not called:
    only real rows have the form that it may expect.

    >>> from holdfast import invariant
    >>> rehearse(invariant(alpha=0.5))
    Traceback (most recent call last):
        ...
    holdfast.errors.InputError: alpha, the share trimmed at each end, must be in [0, 0.5), such as 0.25; got \
0.5; for the median use the rule of that name
    """
    chosen.check_complete()
    if not _is_own(chosen):
        return
    chosen, rng = _in_memory(chosen), np.random.default_rng(0)
    n_rows = N_ROWS + 4 * _assumed(chosen)
    rows = rows_of(rng.normal(size=(n_rows, N_COLUMNS)).astype(np.float32))
    inputs: dict[str, Any] = {"clients": range(n_rows), "rng": rng}
    if chosen.role == "rule":
        flat = np.ones(N_COLUMNS, np.float32)
        inputs |= {"weights": np.ones(n_rows), "params": flat, "previous": flat, "reference": flat}
    try:
        chosen.run(rows, **inputs)
    except (TooFewClientsError, NonFiniteError):  # of the clients that come, not of settings
        return
    except HoldfastError:
        raise
    except Exception as error:
        raise InputError(f"{chosen!r} cannot run: {type(error).__name__}: {error}") from error


def _is_own(chosen: Bound[Any]) -> bool:
    """Return whether a function, and the one that it works in front of, are of this package."""
    package = chosen.function.__module__.partition(".")[0]
    return package == __name__.partition(".")[0] and (chosen.inner is None or _is_own(chosen.inner))


def _in_memory(chosen: Any) -> Any:
    """Return the same without a folder that it would write to."""
    settings = dict(chosen.settings)
    changes = {"folder": None} if settings.get("folder") is not None else {}
    if chosen.inner is not None:
        changes["rule"] = _in_memory(chosen.inner)
    return bind(chosen, chosen.role, **changes)


def _assumed(chosen: Bound[Any]) -> int:
    """Return how many attackers a rule assumes, so that there are rows enough for it."""
    given = dict(chosen.settings).get("n_malicious", 0)
    own = given if isinstance(given, int) else 0
    behind = 0 if chosen.inner is None else _assumed(chosen.inner)
    return max(0, min(own, N_ASSUMED), behind)
