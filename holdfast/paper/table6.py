"""Table 6: attackers who collude, against four defences."""

from collections.abc import Iterable

from .experiment import Experiment, Printed
from .rows import LIKE_CIFAR10, Row, cells_of

__all__ = ["PRINTED", "table6"]

PRINTED = {
    "Invariant": {"cifar10": Printed(0.675, 0.021, 0.002, 0.001)},
    "FLTrust": {"cifar10": Printed(0.671, 0.580, 0.001, 0.003)},
    "RFA": {"cifar10": Printed(0.681, 0.878, 0.002, 0.002)},
    "FLIP": {"cifar10": Printed(0.665, 0.271)},
}

DEFENCES = {"Invariant": "invariant", "FLTrust": "fltrust", "RFA": "rfa", "FLIP": "flip"}

ROWS = tuple(Row(label, defence, "edge-case+collude", PRINTED[label]) for label, defence in DEFENCES.items())

NOTE = "Digits stand in for CIFAR-10. The paper does not have this on phishing."


def table6(*, scale: str = "cpu", n_seeds: int = 3, tasks: Iterable[str] = LIKE_CIFAR10) -> Experiment:
    """Return the defences against attackers who collude.

    >>> table6().rows
    ('Invariant', 'FLTrust', 'RFA', 'FLIP')
    """
    wanted = [task for task in tasks if task in LIKE_CIFAR10]
    cells = cells_of(ROWS, wanted, scale=scale, n_seeds=n_seeds, stands_in=True)
    return Experiment("table6", "Table 6: attackers who collude", "table", NOTE, cells)
