"""From the cases to what is reported: all numbers, growth fitted, the cost of diagnostics."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from .cases import SMALL, Case, Store
from .contenders import RULES
from .machine import describe

__all__ = ["growth", "measured", "ns_per_value", "slope", "summarise"]

Record = dict[str, Any]


def summarise(groups: list[list[Case]], store: Store, absent: dict[str, str]) -> dict[str, Any]:
    """Return everything that is known of these cases, ready for JSON."""
    records = [record for group in groups for case in group if (record := store.get(case)) is not None]
    times = measured(records, "time")
    return rounded(
        {
            "machine": describe(),
            "settings": {
                "dtype": "float32",
                "reference": "torch.mean(0) of the stacked updates, called by turns with the contender",
                "n_malicious": "n_clients // 4; as many are trimmed at each end",
                "threads": "0 is all cores",
                "outside_load": "cores kept busy by others; above 0.15, 0.3 in calls of seconds, not trusted",
            },
            "absent": absent,
            "growth": growth(times),
            "explain_cost": explain_cost(times),
            "ns_per_value": ns_per_value(times),
            "cases": records,
        }
    )


def measured(records: list[Record], kind: str, **fields: Any) -> list[Record]:
    """Return the records of a kind that hold numbers and have these values."""
    wanted = {"kind": kind, "status": "measured", **fields}
    return [record for record in records if all(record.get(name) == value for name, value in wanted.items())]


def growth(times: list[Record]) -> dict[str, Any]:
    """Return, for each contender, the power of d (at n=20) and of n (at d=1e6) its time grows with.

    The mean itself is there too, as "mean torch".
    """
    found: dict[str, Any] = {}
    for name in dict.fromkeys(record["contender"] for record in times):
        own = [record for record in times if record["contender"] == name and not record["threads"]]
        found[name] = _powers(own, "seconds")
    ours = [
        record for record in times if record["contender"] == "invariant holdfast" and not record["threads"]
    ]
    found["mean torch"] = _powers(ours, "reference_seconds")
    return {name: powers for name, powers in found.items() if powers}


def _powers(records: list[Record], field: str) -> dict[str, float]:
    at_20 = [record for record in records if record["n_clients"] == 20]
    in_d = [(record["dim"], record[field]) for record in at_20 if record["dim"] > SMALL]
    in_n = [(record["n_clients"], record[field]) for record in records if record["dim"] == 1_000_000]
    points = {"in_d": in_d, "in_n": in_n}
    return {name: slope(*zip(*pairs, strict=True)) for name, pairs in points.items() if len(pairs) > 1}


def slope(xs: Sequence[float], ys: Sequence[float]) -> float:
    """Return the power p of the line y = c * x^p that fits best on logarithmic axes.

    >>> round(slope([10, 100, 1000], [3, 300, 30000]), 6)
    2.0
    """
    return float(np.polyfit(np.log(xs), np.log(ys), 1)[0])


def explain_cost(times: list[Record]) -> dict[str, dict[str, float]]:
    """Return, for each rule and size, the time with explain=True as a ratio to the time without."""
    by_case = {(r["contender"], r["n_clients"], r["dim"]): r["ratio"] for r in times if not r["threads"]}
    found: dict[str, dict[str, float]] = {}
    for rule in RULES:
        for (name, n, dim), ratio in by_case.items():
            plain = by_case.get((f"{rule} holdfast", n, dim))
            if name == f"{rule} holdfast explain" and plain:
                found.setdefault(rule, {})[f"{n}x{dim}"] = ratio / plain
    return found


def ns_per_value(times: list[Record]) -> dict[str, dict[str, float]]:
    """Return, for each contender and size, nanoseconds per value on one thread.

    The mean is there as "mean torch", and the limit, reading every value once, as "reading".

    >>> record = {"contender": "median torch", "n_clients": 2, "dim": 5, "threads": 1}
    >>> ns_per_value([{**record, "seconds": 1e-8, "reference_seconds": 1e-9}])["median torch"]
    {'2x5': 1.0}
    """
    found: dict[str, dict[str, float]] = {}
    for record in times:
        if record["threads"] == 1:
            size, n_values = f"{record['n_clients']}x{record['dim']}", record["n_clients"] * record["dim"]
            found.setdefault(record["contender"], {})[size] = 1e9 * record["seconds"] / n_values
            found.setdefault("mean torch", {})[size] = 1e9 * record["reference_seconds"] / n_values
            if record.get("reading_seconds"):
                found.setdefault("reading", {})[size] = 1e9 * record["reading_seconds"] / n_values
    return found


def rounded(value: Any, digits: int = 4) -> Any:
    """Return the same structure with every float cut to so many significant digits.

    >>> rounded({"a": [1.23456, 2]})
    {'a': [1.235, 2]}
    """
    if isinstance(value, dict):
        return {name: rounded(part, digits) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(part, digits) for part in value]
    if isinstance(value, float) and math.isfinite(value):
        return float(f"{value:.{digits}g}")
    return value
