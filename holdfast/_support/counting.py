"""Numbers: whole ones from fractions, such as how many values a share trims; and those that are finite."""

import math
import sys
from decimal import Decimal
from numbers import Integral, Real
from typing import Any

import numpy as np

from ..errors import InputError

__all__ = [
    "as_written",
    "check_whole",
    "checked_alpha",
    "checked_tau",
    "count_of",
    "counted",
    "is_number",
    "largest_minority",
    "trim_count",
    "votes_needed",
    "whole_share",
]


def counted(n: int, thing: str) -> str:
    """Return how many things there are, in words.

    >>> counted(1, "round"), counted(0, "round"), counted(1200, "line")
    ('1 round', '0 rounds', '1200 lines')
    """
    return f"{n} {thing}{'s' * (n != 1)}"


def trim_count(alpha: float, n_clients: int) -> int:
    """Return how many values a trimmed mean drops at each end: ceil(alpha * n), at most (n - 1) // 2.

    >>> trim_count(0.25, 20), trim_count(0.07, 100), trim_count(0.45, 4)
    (5, 7, 1)
    """
    return min(whole_share(checked_alpha(alpha), n_clients), (n_clients - 1) // 2)


def checked_alpha(alpha: float) -> float:
    """Return the share trimmed at each end, as written; raise unless it can be one.

    >>> checked_alpha(np.float32(0.1))
    0.1
    """
    alpha = as_written(alpha, "alpha")
    if not 0 <= alpha < 0.5:
        raise InputError(
            f"alpha, the share trimmed at each end, must be in [0, 0.5), such as 0.25; got {alpha}"
            + ("; for the median use the rule of that name" if alpha == 0.5 else "")
        )
    return alpha


def votes_needed(tau: float, n_clients: int, *, strict: bool = False) -> int:
    """Return the smallest |sum of signs| that is at least tau * n, or above it if strict.

    >>> votes_needed(0.6, 20), votes_needed(0.6, 20, strict=True), votes_needed(0.7, 10)
    (12, 13, 7)
    """
    exact, tolerance = checked_tau(tau) * n_clients, 1e-9 * n_clients
    return math.floor(exact + tolerance) + 1 if strict else math.ceil(exact - tolerance)


def checked_tau(tau: float) -> float:
    """Return the agreement of signs that a mask asks for, as written; raise unless it can be one.

    >>> checked_tau(np.float32(0.6))
    0.6
    """
    tau = as_written(tau, "tau")
    if not 0 <= tau <= 1:
        raise InputError(
            f"tau, the agreement of signs a coordinate needs, must be in [0, 1], such as 0.6; got {tau}"
        )
    return tau


def whole_share(share: float, n: int) -> int:
    """Return how many of n a share is, rounded up, with rounding errors of the product forgiven.

    >>> whole_share(0.2, 20), whole_share(0.1, 15), whole_share(0.0, 20)
    (4, 2, 0)
    """
    return math.ceil(as_written(share) * n - 1e-9)


def count_of(given: int | str, n: int) -> int:
    """Return how many of n are meant by a number, or by a share in percent, which is rounded up.

    >>> count_of(3, 12), count_of("3", 12), count_of("20%", 12)
    (3, 3, 3)
    """
    if not isinstance(given, str):
        return given
    number, percent_sign, rest = given.strip().partition("%")
    try:
        share = Decimal(number) if percent_sign and not rest.strip() else None
        if share is None:
            return int(given)
    except (ArithmeticError, ValueError):
        raise InputError(f"must be a number, such as 20, or a share, such as 20%; got {given!r}") from None
    if not (share.is_finite() and 0 <= share <= 100):
        raise InputError(f"a share must be from 0% to 100%; got {given!r}")
    return math.ceil(share * n / 100)


def largest_minority(n_votes: int, n_clients: int) -> int:
    """Return how many clients at most can be against a coordinate that passes a mask of so many votes.

    >>> largest_minority(12, 20), largest_minority(7, 15), largest_minority(21, 20)
    (4, 4, 0)
    """
    return max(0, n_clients - n_votes) // 2


def as_written(fraction: Any, name: str = "a share") -> float:
    """Return the number as written: 0.1 stored in float32 means 0.1, not 0.10000000149.

    >>> as_written(np.float32(0.1))
    0.1
    """
    if isinstance(fraction, bool) or not isinstance(fraction, Real | np.floating):
        raise InputError(f"{name} must be a number; got {fraction!r}")
    return float(str(fraction)) if isinstance(fraction, np.floating) else float(fraction)


def is_number(value: Any) -> bool:
    """Return whether a value, of a stranger's JSON say, is a whole number or a float that floats can hold.

    >>> [is_number(value) for value in (3, 0.5, True, "3", float("inf"), float("nan"), 10**400)]
    [True, True, False, False, False, False, False]
    """
    return isinstance(value, int | float) and not isinstance(value, bool) and abs(value) <= sys.float_info.max


def check_whole(name: str, value: Any, *, at_least: int, at_most: int | None = None) -> None:
    """Raise unless the setting is a whole number in these bounds.

    >>> check_whole("n_malicious", 2, at_least=0)
    """
    whole = isinstance(value, Integral) and not isinstance(value, bool)
    if not whole or value < at_least or (at_most is not None and value > at_most):
        bounds = f"of at least {at_least}" if at_most is None else f"from {at_least} to {at_most}"
        raise InputError(f"{name} must be a whole number {bounds}; got {value!r}")
