"""Table 8: the invariant aggregator with more and more malicious clients."""

from collections.abc import Iterable

from .experiment import Experiment, Printed
from .rows import LIKE_CIFAR10, Row, cells_of

__all__ = ["PRINTED", "table8"]

PRINTED = {
    0: Printed(0.687, 0.000, 0.002),
    5: Printed(0.683, 0.000, 0.003),
    10: Printed(0.681, 0.000),
    15: Printed(0.681, 0.001, 0.002),
    20: Printed(0.677, 0.001),
}

ROWS = tuple(
    Row(f"{percent} %", printed={"cifar10": printed}, share=percent / 100, x=percent / 100)
    for percent, printed in PRINTED.items()
)

NOTE = (
    "Digits stand in for CIFAR-10; the paper does not have this on phishing. A share of the clients is"
    " rounded up to whole ones. 0 % is the row without an attack of table 5, where the paper has other"
    " numbers (.685)."
)


def table8(*, scale: str = "cpu", n_seeds: int = 3, tasks: Iterable[str] = LIKE_CIFAR10) -> Experiment:
    """Return the shares of malicious clients.

    >>> [cell.runs[0].attack.n_malicious for cell in table8(tasks=["phishing"]).cells]
    [0, 5, 10, 15, 20]
    """
    wanted = [task for task in tasks if task in LIKE_CIFAR10]
    cells = cells_of(ROWS, wanted, scale=scale, n_seeds=n_seeds, stands_in=True)
    return Experiment("table8", "Table 8: share of malicious clients", "table", NOTE, cells)
