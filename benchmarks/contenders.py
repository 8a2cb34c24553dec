"""Who computes which rule: holdfast, NumPy, torch, Flower, ByzFL, each called as its users call it.

Every contender gets the updates in the form it likes best: holdfast and Flower the clients' rows, the others
a matrix that is stacked already. Stacking counts only where a peer's own code does it.
"""

import importlib.util
import sys
import types
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

import holdfast
from holdfast.updates import rows_of

__all__ = ["RULES", "Contender", "contenders", "n_malicious", "reference"]

Array = NDArray[np.float32]
Call = Callable[[Any], Any]

RULES = ("invariant", "trimmed_mean", "median", "multi_krum", "rfa")


@dataclass(frozen=True)
class Contender:
    """One way to compute a rule: `call(n_clients)` gives a function of the updates in this `form`."""

    rule: str
    peer: str
    form: str  # rows, matrix, tensor, results (Flower's lists) or records (Flower's messages): see data.py
    call: Callable[[int], Call]

    @property
    def name(self) -> str:
        """How results and files call it."""
        return f"{self.rule} {self.peer}"


def n_malicious(n_clients: int) -> int:
    """Return how many clients every rule is told to expect as malicious, and trims at each end."""
    return n_clients // 4


def reference() -> Call:
    """Return what all times are compared with: torch.mean(0) of the stacked updates."""
    import torch

    return lambda tensor: torch.mean(tensor, 0)


def contenders(peers: tuple[str, ...] | None = None) -> tuple[list[Contender], dict[str, str]]:
    """Return the contenders of these packages, by default all, and why any is left out."""
    found, absent = [], {}
    for package, make in PACKAGES.items():
        if peers is not None and package not in peers:
            continue
        try:
            found += make()
        except ImportError as error:
            absent[package] = f"not installed: {error}"
    return found, absent


def of_holdfast() -> list[Contender]:
    settings: dict[str, Callable[[int], dict[str, Any]]] = {
        "invariant": lambda n: {"alpha": n_malicious(n) / n},
        "trimmed_mean": lambda n: {"alpha": n_malicious(n) / n},
        "median": lambda n: {},
        "multi_krum": lambda n: {"n_malicious": n_malicious(n)},
        "rfa": lambda n: {},
    }

    def called(rule: str, explain: bool) -> Callable[[int], Call]:
        function = getattr(holdfast, rule)
        return lambda n: lambda rows: function(rows_of(rows, explain=explain), **settings[rule](n)).update

    plain = [Contender(rule, "holdfast", "rows", called(rule, False)) for rule in RULES]
    return plain + [Contender(rule, "holdfast explain", "rows", called(rule, True)) for rule in RULES]


def of_numpy() -> list[Contender]:
    def sorted_mean(n: int, n_cut: int) -> Call:
        return lambda matrix: np.sort(matrix, axis=0)[n_cut : n - n_cut].mean(axis=0)

    def partitioned_mean(n: int, n_cut: int) -> Call:
        return lambda matrix: np.partition(matrix, (n_cut, n - n_cut - 1), axis=0)[n_cut : n - n_cut].mean(
            axis=0
        )

    return [
        Contender("trimmed_mean", "numpy sort", "matrix", lambda n: sorted_mean(n, n_malicious(n))),
        Contender("trimmed_mean", "numpy partition", "matrix", lambda n: partitioned_mean(n, n_malicious(n))),
        Contender("median", "numpy sort", "matrix", lambda n: sorted_mean(n, (n - 1) // 2)),
        Contender("median", "numpy partition", "matrix", lambda n: lambda matrix: np.median(matrix, axis=0)),
    ]


def of_torch() -> list[Contender]:
    import torch

    def sorted_mean(n: int) -> Call:
        n_cut = n_malicious(n)
        return lambda tensor: torch.sort(tensor, dim=0).values[n_cut : n - n_cut].mean(0)

    return [
        Contender("trimmed_mean", "torch", "tensor", sorted_mean),
        # The lower of the two middle values where n is even.
        Contender("median", "torch", "tensor", lambda n: lambda tensor: torch.median(tensor, 0).values),
    ]


def of_flower() -> list[Contender]:
    from flwr.server.strategy import aggregate as flower
    from flwr.serverapp.strategy.multikrum import select_multikrum
    from flwr.serverapp.strategy.strategy_utils import aggregate_arrayrecords

    def trimmed(n: int) -> Call:
        share = (n_malicious(n) + 0.5) / n  # rounded down to the count
        return lambda results: flower.aggregate_trimmed_avg(results, share)[0]

    def multi_krum(n: int) -> Call:
        return lambda results: flower.aggregate_krum(results, n_malicious(n), n - n_malicious(n))[0]

    def multi_krum_of_records(n: int) -> Call:
        def call(contents: list[Any]) -> Any:
            chosen = select_multikrum(contents, n_malicious(n), n - n_malicious(n))
            return aggregate_arrayrecords(chosen, "num-examples").to_numpy_ndarrays()[0]

        return call

    return [
        Contender("trimmed_mean", "flower", "results", trimmed),
        Contender("median", "flower", "results", lambda n: lambda given: flower.aggregate_median(given)[0]),
        Contender("multi_krum", "flower", "results", multi_krum),
        # The message-based strategy takes its distances from a matrix product, which is much faster.
        Contender("multi_krum", "flower records", "records", multi_krum_of_records),
    ]


def of_byzfl() -> list[Contender]:
    # ByzFL's __init__ imports its training framework, and that torchvision and seaborn, which no aggregator
    # uses. A bare package in its place lets the aggregators be imported alone, unchanged.
    if "byzfl" not in sys.modules:
        spec = importlib.util.find_spec("byzfl")
        if spec is None:
            raise ImportError("No module named 'byzfl'")
        package = types.ModuleType("byzfl")
        package.__path__ = list(spec.submodule_search_locations or ())
        sys.modules["byzfl"] = package
    from byzfl import aggregators as byzfl

    rules: dict[str, Callable[[int], Call]] = {
        "trimmed_mean": lambda n: byzfl.TrMean(n_malicious(n)),
        "median": lambda n: byzfl.Median(),
        "multi_krum": lambda n: byzfl.MultiKrum(n_malicious(n)),
        "rfa": lambda n: (
            byzfl.GeometricMedian()
        ),  # three steps of Weiszfeld; holdfast continues until it converges
    }
    forms = {"byzfl numpy": "matrix", "byzfl torch": "tensor"}
    return [Contender(rule, peer, form, call) for peer, form in forms.items() for rule, call in rules.items()]


PACKAGES: dict[str, Callable[[], list[Contender]]] = {
    "holdfast": of_holdfast,
    "numpy": of_numpy,
    "torch": of_torch,
    "flower": of_flower,
    "byzfl": of_byzfl,
}
