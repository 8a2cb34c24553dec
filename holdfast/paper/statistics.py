"""What numbers of several seeds come to: mean, spread, 95 % intervals; and pairs of them, seed by seed."""

import math
from collections.abc import Mapping, Sequence
from statistics import mean, variance
from typing import Any

import numpy as np

from ..errors import InputError
from ..theory.student import student_quantile, student_tail

__all__ = ["CONFIDENCE", "MOST_FLIPPED", "against", "most_of", "paired", "spread"]

#: How often an interval covers the mean of all seeds that there could be.
CONFIDENCE = 0.95

#: Of more pairs than this, the signs are not flipped: there are 2^n ways to.
MOST_FLIPPED = 16


def spread(numbers: Sequence[float | None], *, most: float = 1.0) -> dict[str, Any] | None:
    """Return how numbers, one per seed, lie apart; None where one is missing.

    The variance is a sample's. The margin is Student's, to 95 %: None for a single seed, 0 where all seeds
    agree. The interval is the mean ± the margin, cut at 0 and at `most` (1, for shares), beyond which no mean
    can lie; so it covers the mean as often.

    >>> found = spread([0.90, 0.94, 0.98])
    >>> print(round(found["margin"], 4), [round(end, 4) for end in found["interval"]])
    0.0994 [0.8406, 1.0]
    """
    known = [number for number in numbers if number is not None]
    return _spread(known, 0.0, most) if known and len(known) == len(numbers) else None


def paired(
    own: Sequence[float | None], baseline: Sequence[float | None], *, most: float = 1.0
) -> dict[str, Any] | None:
    """Return by how much numbers exceed those of a baseline, seed by seed; None where one is missing.

    It is the spread of the differences, with two chances of a mean difference at least as large if there is
    none: `p`, by the paired t test, and `p_flips`, which assumes no normal law, as the share of all 2^n ways
    to flip the signs of the differences. That one is never below 2 / 2^n: .25 for three seeds, and below .05
    from six on. `excludes_zero` says whether the interval does, which is the same as p < .05. If all seeds
    differ by exactly the same, p is 0, the limit of an ever smaller spread; a single seed has no p.

    >>> found = paired([0.90, 0.94, 0.92], [0.80, 0.86, 0.83])
    >>> print(round(found["mean"], 3), [round(end, 3) for end in found["interval"]], round(found["p"], 4))
    0.09 [0.065, 0.115] 0.0041
    >>> found["excludes_zero"], found["p_flips"]
    (True, 0.25)
    """
    if len(own) != len(baseline):
        raise InputError(f"pairs need one number each per seed; got {len(own)} and {len(baseline)}")
    pairs = [(a, b) for a, b in zip(own, baseline, strict=True) if a is not None and b is not None]
    if not pairs or len(pairs) < len(own):
        return None
    differences = [a - b for a, b in pairs]
    found = _spread(differences, -most, most)
    low, high = found["interval"] or (0.0, 0.0)
    return {
        **found,
        "excludes_zero": not low <= 0 <= high,
        "p": _t_test(found["mean"], found["variance"], len(differences)),
        "p_flips": _flipped(differences) if len(differences) <= MOST_FLIPPED else None,
    }


def against(cell: Mapping[str, Any], baseline: Mapping[str, Any]) -> dict[str, Any]:
    """Return by how much a measured cell of a document exceeds another, for each number that both have.

    Runs of the same seed share the split of the data, the attackers and who is sampled when, so they are
    pairs. There is nothing to return unless both cells are measured with the same seeds.

    >>> one, other = ({"seeds": [0], "measured": {"accuracy": spread([share])}} for share in (0.75, 0.5))
    >>> against(one, other)["accuracy"]["mean"]
    0.25
    """
    own, its = cell["measured"], baseline["measured"]
    if own is None or its is None or cell["seeds"] != baseline["seeds"]:
        return {}
    return {
        name: paired(own[name]["values"], its[name]["values"], most=most_of(name))
        for name in own
        if isinstance(own[name], Mapping) and isinstance(its.get(name), Mapping)
    }


def most_of(name: str) -> float:
    """Return the most that a number of this name can be: shares end at 1, counts nowhere.

    >>> most_of("accuracy"), most_of("last10_n_found")
    (1.0, inf)
    """
    return math.inf if name.removeprefix("last10_").startswith("n_") else 1.0


def _spread(values: Sequence[float], least: float, most: float) -> dict[str, Any]:
    n, middle = len(values), mean(values)
    own = variance(values) if n > 1 else 0.0
    margin = student_quantile((1 + CONFIDENCE) / 2, degrees=n - 1) * math.sqrt(own / n) if n > 1 else None
    return {
        "mean": middle,
        "low": min(values),
        "high": max(values),
        "std": own**0.5,
        "variance": own,
        "margin": margin,
        "interval": None if margin is None else [max(middle - margin, least), min(middle + margin, most)],
        "values": list(values),
    }


def _t_test(middle: float, own: float, n: int) -> float | None:
    """Return the chance of a mean at least this far from 0, on either side, if the truth is 0."""
    if n == 1:
        return None
    if own == 0:
        return 1.0 if middle == 0 else 0.0
    return 2 * student_tail(abs(middle) / math.sqrt(own / n), degrees=n - 1)


def _flipped(differences: Sequence[float]) -> float:
    """Return the share of all flips of signs whose sum is at least as far from 0."""
    sums = np.zeros(1)
    for difference in differences:
        sums = np.concatenate([sums + difference, sums - difference])
    forgiven = 1e-9 * sum(map(abs, differences))  # the same sum, added in another order
    return float(np.mean(abs(sums) >= abs(sums[0]) - forgiven))
