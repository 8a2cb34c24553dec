"""A rehearsal: rule and watch run once on made-up rows: a wrong setting fails before anybody trains."""

from contextlib import suppress
from functools import lru_cache
from typing import Any

import numpy as np

from ..core import Bound, Rule, Watch, bind
from ..errors import HoldfastError, InputError, NonFiniteError, TooFewClientsError
from ..updates.rows import rows_of

__all__ = ["rehearse"]

#: Rows and columns of the made-up round. Rules that assume attackers get more rows, up to a limit.
N_ROWS, N_COLUMNS, N_ASSUMED = 11, 16, 50

#: (a, b) where a rule withstands f attackers among a * f + b clients or more, by its theorem.
WITHSTANDS = {
    **dict.fromkeys(("krum", "multi_krum", "multi_krum_cosine", "krum_trimmed_mean"), (2, 3)),
    "bulyan": (4, 3),
    **dict.fromkeys(("arc", "dnc", "nnm"), (2, 1)),
}


@lru_cache(maxsize=256)
def rehearse(chosen: Rule | Watch, *, n_clients: int | None = None) -> None:
    """Raise an InputError if a rule or a watch of holdfast's cannot run with its settings.

    A function of the user's own is not called: only real rows have the form that it may expect.

    Args:
        chosen: The rule or the watch.
        n_clients: The fewest clients that a round may have. A rule must withstand the attackers that it
            assumes among so many. Without this number, how many clients come is seen in the round.

    >>> from holdfast import invariant, krum
    >>> rehearse(invariant(alpha=0.5))
    Traceback (most recent call last):
        ...
    holdfast.errors.InputError: alpha, the share trimmed at each end, must be in [0, 0.5), such as 0.25; got \
0.5; for the median use the rule of that name
    >>> rehearse(krum(n_malicious=4), n_clients=10)
    Traceback (most recent call last):
        ...
    holdfast.errors.TooFewClientsError: krum(n_malicious=4) needs 11 clients in a round (n >= 2f + 3), and a \
round may have as few as 10: ask more clients, or set n_malicious to 3 or less
    """
    chosen.check_complete()
    if not _is_own(chosen):
        return
    with suppress(TooFewClientsError):
        _run(chosen, N_ROWS + 4 * _assumed(chosen))
    if n_clients is not None:
        _check_withstands(chosen, n_clients)
        _run(chosen, n_clients)


def _check_withstands(chosen: Bound[Any], n_clients: int) -> None:
    """Raise unless the rule, and the one that it works in front of, withstand f attackers among so many."""
    settings = dict(chosen.settings)
    if chosen.name in WITHSTANDS:
        a, b = WITHSTANDS[chosen.name]
        n_needed, n_withstood = a * settings["n_malicious"] + b, (n_clients - b) // a
        if n_clients < n_needed:
            other = f"set n_malicious to {n_withstood} or less" if n_withstood > 0 else "use the median"
            raise TooFewClientsError(
                f"{chosen!r} needs {n_needed} clients in a round (n >= {a}f + {b}), and a round may have as"
                f" few as {n_clients}: ask more clients, or {other}"
            )
    if chosen.inner is not None:
        n_rows = -(-n_clients // settings["size"]) if chosen.name == "bucketing" else n_clients
        _check_withstands(chosen.inner, n_rows)


def _run(chosen: Any, n_rows: int) -> None:
    """Run a rule or a watch once on so many made-up rows."""
    chosen, rng = _in_memory(chosen), np.random.default_rng(0)
    rows = rows_of(rng.normal(size=(n_rows, N_COLUMNS)).astype(np.float32))
    inputs: dict[str, Any] = {"clients": range(n_rows), "rng": rng}
    if chosen.role == "rule":
        flat = np.ones(N_COLUMNS, np.float32)
        inputs |= {"weights": np.ones(n_rows), "params": flat, "previous": flat, "reference": flat}
    try:
        chosen.run(rows, **inputs)
    except NonFiniteError:  # of the clients that come, not of settings
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
