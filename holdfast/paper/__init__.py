"""The tables and figures of the paper, each as data; its claims, as checks."""

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from ..core import nearest
from ..errors import InputError
from ..lab.names import SCALES
from .claims import judge_claims
from .experiment import Experiment
from .figure6 import figure6a, figure6b, figure6c
from .real_tables import real_tables
from .rows import COLUMNS as TABLES
from .rows import REAL
from .table1 import table1
from .table4 import table4
from .table5 import table5
from .table6 import table6
from .table7 import table7
from .table8 import table8
from .table9 import table9
from .table10 import table10

__all__ = ["COLUMNS", "EXPERIMENTS", "experiments_named", "judge_claims"]

#: The tasks that there are experiments on.
COLUMNS = (*TABLES, *REAL)

#: Every experiment by name; each takes scale, n_seeds and tasks.
EXPERIMENTS: Mapping[str, Callable[..., Experiment]] = MappingProxyType(
    {
        made.__name__: made
        for made in (
            table1, table4, table5, table6, table7, table8, table9, table10,
            figure6a, figure6b, figure6c, real_tables,
        )
    }
)  # fmt: skip


def experiments_named(
    names: Iterable[str], *, scale: str = "cpu", n_seeds: int = 3, tasks: Iterable[str] = COLUMNS
) -> list[Experiment]:
    """Return the experiments of these names, "all" for every one, "figure6" for its three panels.

    >>> [one.name for one in experiments_named(["table4", "figure6"])]
    ['table4', 'figure6a', 'figure6b', 'figure6c']
    """
    tasks = tuple(tasks)
    if scale not in SCALES:
        raise InputError(f"scale must be one of {', '.join(SCALES)}; got {scale!r}")
    for task in tasks:
        if task not in COLUMNS:
            raise InputError(f"no experiment on {task!r}; there are: {', '.join(COLUMNS)}")
    wanted: dict[str, Callable[..., Experiment]] = {}
    for name in names:
        found = {own: made for own, made in EXPERIMENTS.items() if name in ("all", own, own.rstrip("abc"))}
        if not found:
            hint = nearest(name, EXPERIMENTS)
            raise InputError(f"no experiment {name!r}; {hint}There are: all, {', '.join(EXPERIMENTS)}")
        wanted |= found
    return [made(scale=scale, n_seeds=n_seeds, tasks=tasks) for made in wanted.values()]
