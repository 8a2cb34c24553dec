"""A few numbers, one a seed, and how far they lie apart."""

from collections.abc import Iterable
from dataclasses import dataclass
from statistics import mean, variance

__all__ = ["Spread"]


@dataclass(frozen=True)
class Spread:
    """The mean of a few numbers and how they spread; the variance is that of a sample, 0 for one number.

    >>> print(Spread.of([0.97, 0.99]))
    98.0% (97.0-99.0)
    """

    mean: float
    low: float
    high: float
    std: float
    variance: float
    values: tuple[float, ...]

    @classmethod
    def of(cls, numbers: Iterable[float | None]) -> "Spread | None":
        """Return it for numbers that are all there, else None.

        >>> Spread.of([1.0, 0.0, 0.0]).variance.as_integer_ratio() == (1 / 3).as_integer_ratio()
        True
        """
        given = list(numbers)
        known = tuple(number for number in given if number is not None)
        if not known or len(known) < len(given):
            return None
        spread = variance(known) if len(known) > 1 else 0.0
        return cls(mean(known), min(known), max(known), spread**0.5, spread, known)

    def __str__(self) -> str:
        """Return percents, for a table."""
        return f"{self.mean:.1%} ({100 * self.low:.1f}-{100 * self.high:.1f})"
