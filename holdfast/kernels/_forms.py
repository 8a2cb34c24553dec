"""What the compiled loops are given, and what they fill in. Plain tuples of arrays, which Numba can take."""

from typing import Any, NamedTuple

from numpy.typing import NDArray

__all__ = ["Election", "Found", "Made", "Plan", "Source", "Tally", "Weighing", "Work"]

Array = NDArray[Any]

WIDTH = 128  # columns in a block: a multiple of every vector register, and n of them fit the nearest caches
LANES = 16  # columns that the widest vector register holds: straight code takes so many or more
PANEL = 1024  # columns that products are taken over before their lanes are added up
FLOAT32, FLOAT64, FLOAT16, BFLOAT16 = range(4)
MEAN, RATIO, SUM, VOTE, NEAREST = range(5)


class Source(NamedTuple):
    """Where the rows lie: [layer, row] addresses and kinds of number, and each layer's first coordinate."""

    addresses: Array
    kinds: Array
    offsets: Array
    limits: Array  # [layer] the largest magnitude its type can hold, in the type to compute in
    base_addresses: Array  # [layer], or empty: no base
    base_kinds: Array


class Work(NamedTuple):
    """A block of columns: its rows one after the other, the base, each column's sum of signs."""

    buffer: Array
    base: Array
    signs: Array  # the sum of signs


class Made(NamedTuple):
    """What is made of a block: a value of each column, and what led to it."""

    values: Array
    is_kept: Array  # by the mask
    low: Array  # the range of the values that were averaged
    high: Array
    majority: Array  # the sign that most rows have
    mean: Array
    spread: Array


class Plan(NamedTuple):
    """What to make of a column. Only what the mode needs is looked at."""

    mode: int
    n_used: int  # the first so many rows are aggregated; the others are only measured
    n_trimmed: int
    pairs: Array  # the sorting network
    n_votes: int  # a column with |sum of signs| below it is multiplied by `below`
    below: float
    weights: Array
    beside: Array  # one more row, flat, with its weight; or empty
    beside_weight: float
    kappa: float
    step: float
    needs_range: bool  # of the averaged values: to measure who was trimmed, and to keep doubles inside it
    explain: bool


class Weighing(NamedTuple):
    """How to make a column's weighted trimmed mean."""

    shares: Array  # [row] of the weight
    units: Array  # [row] the same in whole numbers, whose sums are exact in any order
    pairs: Array  # the sorting network
    n_outside: int  # so many rows at each end are trimmed away, whatever their order
    n_edge: int  # and at most so many
    edge: int  # units that are trimmed away at each end
    alpha: float  # the share of the weight trimmed away at each end; 0.5: the median
    n_votes: int  # a column with |sum of signs times units| below it is multiplied by `below`
    below: float
    explain: bool


class Election(NamedTuple):
    """How to elect a column's sign, and to average the rows that have it."""

    votes: Array  # [row] whole numbers
    factors: Array  # [row] what clipping multiplies it by
    cutoffs: Array  # [row] smaller magnitudes are left out
    pairs: Array  # the network that brings the lower median of the magnitudes to its place
    below: float
    explain: bool


class Tally(NamedTuple):
    """What to count in each row."""

    given: Array  # [row] what the loop compares its numbers with
    n_counts: int  # of each row
    shift: int  # the place of the digits that are counted


class Found(NamedTuple):
    """What a task finds besides the values, to be added up by whoever started it."""

    bad: Array  # [row] values that the layer's type cannot hold
    kept: Array  # [0] columns that pass the mask
    squares: Array  # [cell, row], last row: the result
    dots: Array  # [cell, row]
    opposed: Array  # [row]
    trimmed: Array  # [row]
    consistency: Array  # [four counters, |sum of signs|]: one alone would wait for itself
