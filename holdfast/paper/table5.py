"""Table 5: the invariant aggregator under one attack after the other."""

from collections.abc import Iterable

from .experiment import Experiment, Printed
from .rows import COLUMNS, LIKE_CIFAR10, Row, cells_of
from .table1 import PRINTED as MAIN

__all__ = ["PRINTED", "table5"]

_SAFE = Printed(0.999, 0.000)

PRINTED = {
    "No attack": {"cifar10": Printed(0.685, 0.000), "twitter": Printed(0.691, 0.095), "phishing": _SAFE},
    "Edge-case": MAIN["Invariant"],
    "Distributed (DBA)": {"cifar10": Printed(0.679, 0.001), "phishing": _SAFE},
    "Edge-case, collude": {
        "cifar10": Printed(0.675, 0.021),
        "twitter": Printed(0.685, 0.324, 0.002),
        "phishing": _SAFE,
    },
    "Edge-case, adaptive": {
        "cifar10": Printed(0.668, 0.013),
        "twitter": Printed(0.682, 0.331, 0.001, 0.002),
        "phishing": _SAFE,
    },
    "Edge-case, collude, adaptive": {
        "cifar10": Printed(0.667, 0.049),
        "twitter": Printed(0.683, 0.335),
        "phishing": _SAFE,
    },
}

ATTACKS = {
    "No attack": "edge-case",
    "Edge-case": "edge-case",
    "Distributed (DBA)": "distributed",
    "Edge-case, collude": "edge-case+collude",
    "Edge-case, adaptive": "edge-case+adaptive",
    "Edge-case, collude, adaptive": "edge-case+collude+adaptive",
}

ROWS = tuple(
    Row(
        label,
        attack=attack,
        printed=PRINTED[label],
        share=0.0 if label == "No attack" else None,
        tasks=LIKE_CIFAR10 if attack == "distributed" else COLUMNS,
    )
    for label, attack in ATTACKS.items()
)

NOTE = (
    "No attack is the invariant aggregator among honest clients, measured by the edge-case backdoor. The"
    " adaptive attackers read the mask off the last global update. Text has no distributed trigger."
)


def table5(*, scale: str = "cpu", n_seeds: int = 3, tasks: Iterable[str] = COLUMNS) -> Experiment:
    """Return the attacks on the invariant aggregator.

    >>> {cell.defence for cell in table5().cells}
    {'invariant'}
    """
    cells = cells_of(ROWS, tasks, scale=scale, n_seeds=n_seeds)
    title = "Table 5: the invariant aggregator under various attacks"
    return Experiment("table5", title, "table", NOTE, cells)
