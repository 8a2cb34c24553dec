"""The tables and figures of the paper, each as data; its claims, as checks."""

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import Any

from .._support.lookup import offered
from ..errors import InputError
from ..lab.tasks import SCALES
from .cifar10_tables import CIFAR10_TABLES
from .experiment import Document, Experiment
from .judging import judge
from .main_claims import MAIN_CLAIMS
from .main_tables import TABLE1, TABLE4, TABLE5
from .network_table import NETWORK_TABLES
from .other_claims import OTHER_CLAIMS
from .others_tables import OTHERS, OTHERS_TABLES
from .own_tables import OWN_TABLES
from .table import REAL, TASKS, Table
from .watch_tables import MINORITIES, WATCH_TABLES
from .worst_case import WORST_CASES, WorstCase

__all__ = ["CLAIMS", "COLUMNS", "EXPERIMENTS", "LARGE", "experiments_named", "judge_claims"]

#: Every claim.
CLAIMS = (*MAIN_CLAIMS, *OTHER_CLAIMS)

#: The tasks that there are experiments on.
COLUMNS = tuple(
    dict.fromkeys(
        (
            *TASKS,
            *(task for table in NETWORK_TABLES for task in table.tasks),
            *("cifar10-semantic", "fashion-mnist"),
            *(*REAL, *MINORITIES, *OTHERS),
        )
    )
)

#: Every experiment by name; called with scale, n_seeds and tasks, it has its runs.
EXPERIMENTS: Mapping[str, Table] = MappingProxyType(
    {
        table.name: table
        for table in (
            *(TABLE1, TABLE4, TABLE5, *CIFAR10_TABLES),
            *(*NETWORK_TABLES, *OWN_TABLES, *WATCH_TABLES, *OTHERS_TABLES),
        )
    }
)

#: Figures that are drawn from formulas, without a run.
THEORY = ("figure1", "figure2", "figure3")

#: Experiments of thousands of runs, which "all" leaves out.
LARGE: Mapping[str, WorstCase] = MappingProxyType({table.name: table for table in WORST_CASES})


def experiments_named(
    names: Iterable[str], *, scale: str = "cpu", n_seeds: int = 3, tasks: Iterable[str] = COLUMNS
) -> list[Experiment]:
    """Return the experiments of these names: "all" is every one but the large ones, "figure6" its three
    panels, "worst_case" that on each of its tasks.

    >>> [one.name for one in experiments_named(["table4", "figure6"])]
    ['table4', 'figure6a', 'figure6b', 'figure6c']
    """
    tasks = tuple(tasks)
    if scale not in SCALES:
        raise InputError(f"scale must be one of {', '.join(SCALES)}; got {scale!r}")
    for task in tasks:
        if task not in COLUMNS:
            raise InputError(f"no experiment on {task!r}; there are: {', '.join(COLUMNS)}")
    wanted: dict[str, Table | WorstCase] = {}
    for name in names:
        if name.rstrip("abc") in THEORY:
            raise InputError(f"{name} follows from formulas and has no runs: type 'holdfast theory figures'")
        found: dict[str, Table | WorstCase] = {
            **{own: one for own, one in EXPERIMENTS.items() if name in ("all", own, own.rstrip("abc"))},
            **{own: one for own, one in LARGE.items() if name in ("worst_case", own)},
        }
        if not found:
            known = ("all", *EXPERIMENTS, "worst_case", *LARGE)
            raise InputError(f"no experiment {name!r}{offered(name, known)}")
        wanted |= found
    return [table(scale=scale, n_seeds=n_seeds, tasks=tasks) for table in wanted.values()]


def judge_claims(experiments: Iterable[Mapping[str, Any]]) -> list[Document]:
    """Return all claims with what the experiments of a document say about them.

    >>> {claim["verdict"] for claim in judge_claims([])}
    {'not measured'}
    """
    return judge(CLAIMS, EXPERIMENTS, experiments)
