"""Table 9: the invariant aggregator against larger and larger triggers of pixels."""

from collections.abc import Iterable

from .experiment import Cell, Experiment, Printed
from .rows import Row, cells_of

__all__ = ["PRINTED", "table9"]

PRINTED = {
    "x1": Printed(0.679, 0.001),
    "x2": Printed(0.677, 0.003),
    "x4": Printed(0.675, 0.003, 0.002),
}

#: Height, width and gap of the four blocks of pixels, by task and size.
SIZES = {
    "cifar10": {"x1": (1, 6, 3), "x2": (2, 6, 3), "x4": (2, 12, 3)},
    "digits": {"x1": (1, 1, 6), "x2": (1, 2, 4), "x4": (2, 2, 4)},
}

NOTE = (
    "Digits stand in for CIFAR-10: on their 8 by 8 pixels the four blocks have one, two and four pixels each,"
    " near the corners, and x4 is the distributed attack of table 5; on CIFAR-10 it is x1, with blocks of six"
    " pixels. Phishing has no pixels."
)


def table9(*, scale: str = "cpu", n_seeds: int = 3, tasks: Iterable[str] = tuple(SIZES)) -> Experiment:
    """Return the sizes of a trigger.

    >>> table9(tasks=["digits"]).rows
    ('x1', 'x2', 'x4')
    """
    wanted = [task for task in tasks if task in SIZES]
    cells: list[Cell] = []
    for size, printed in PRINTED.items():
        for task in wanted:
            values = zip(("height", "width", "gap"), SIZES[task][size], strict=True)
            settings = {f"distributed_pixels.{name}": value for name, value in values}
            row = Row(size, attack="distributed", printed={"cifar10": printed}, settings=settings)
            cells.extend(cells_of([row], [task], scale=scale, n_seeds=n_seeds, stands_in=True))
    return Experiment("table9", "Table 9: size of the trigger", "table", NOTE, tuple(cells))
