"""Student's t: how far the mean of a few seeds may lie from the truth by chance (Student, 1908)."""

import math
from functools import cache

from .._support.counting import check_whole
from ..errors import InputError

__all__ = ["student_quantile", "student_tail"]


def student_tail(t: float, *, degrees: int) -> float:
    """Return the chance that Student's t with so many degrees of freedom is above t.

    Twice the tail beyond t > 0 is I_x(degrees / 2, 1 / 2), x = degrees / (degrees + t^2), with I the
    regularised incomplete beta function. The far tail keeps its digits.

    >>> round(student_tail(4.3027, degrees=2), 5), student_tail(0.0, degrees=7)
    (0.025, 0.5)
    """
    check_whole("degrees", degrees, at_least=1)
    if math.isnan(t):
        raise InputError("t must be a number; got nan")
    if t < 0:
        return 1 - student_tail(-t, degrees=degrees)
    ratio = t / math.sqrt(degrees)
    angle = math.atan(ratio)
    a, beyond, within = degrees / 2, 1 / (1 + ratio * ratio), math.sin(angle) ** 2
    if beyond < (a + 1) / (a + 2.5):  # where the fraction of this side converges quickly
        return _incomplete_beta(beyond, within, a, 0.5) / 2
    return (1 - _incomplete_beta(within, beyond, 0.5, a)) / 2


@cache
def student_quantile(chance: float, *, degrees: int) -> float:
    """Return what Student's t with so many degrees of freedom stays below with this chance.

    The mean of n numbers, plus and minus their standard error times the quantile of .975 with n - 1 degrees,
    is its 95 % interval. For three numbers that quantile is 4.3, not the 2 of many.

    >>> [round(student_quantile(0.975, degrees=degrees), 4) for degrees in (1, 2, 9, 200)]
    [12.7062, 4.3027, 2.2622, 1.9719]
    """
    if not 0 < chance < 1:
        raise InputError(f"chance must be above 0 and below 1; got {chance}")
    if chance < 0.5:
        return -_beyond(chance, degrees)
    return _beyond(1 - chance, degrees)


def _beyond(tail: float, degrees: int) -> float:
    """Return where a tail of this weight, at most a half, begins."""
    low, high = 0.0, 1.0
    while student_tail(high, degrees=degrees) > tail:
        low, high = high, 2 * high
    for _ in range(60):  # more than a float has digits
        middle = (low + high) / 2
        low, high = (middle, high) if student_tail(middle, degrees=degrees) > tail else (low, middle)
    return low


def _incomplete_beta(x: float, rest: float, a: float, b: float) -> float:
    """Return I_x(a, b) by its continued fraction, from the inside out; `rest` is 1 - x, to all its digits."""
    if x == 0:
        return 0.0
    fraction = 1.0
    for m in reversed(range(50 + 5 * math.isqrt(int(a + b)))):
        fraction = 1 + (m + 1) * (b - m - 1) * x / ((a + 2 * m + 1) * (a + 2 * m + 2)) / fraction
        fraction = 1 - (a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1)) / fraction
    log_beta = math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)
    return math.exp(a * math.log(x) + b * math.log(rest) - log_beta) / (a * fraction)
