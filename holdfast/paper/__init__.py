"""The tables and figures of the paper, each as data; its claims, as checks."""

from collections.abc import Callable, Mapping
from types import MappingProxyType

from ..experiment import Experiment
from .rows import COLUMNS
from .table1 import table1

__all__ = ["COLUMNS", "EXPERIMENTS"]

#: Every experiment by name; each takes scale, n_seeds and tasks.
EXPERIMENTS: Mapping[str, Callable[..., Experiment]] = MappingProxyType({"table1": table1})
