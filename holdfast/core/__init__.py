"""The contract between rules and whoever calls them: functions as values, what a rule returns and says."""

from .._support.roles import ROLES
from .aggregate import Aggregate, Memory
from .binding import Attendance, Bound, Rule, Watch, bind, rule
from .diagnostics import Diagnostics, Dropped

__all__ = [
    "ROLES",
    "Aggregate",
    "Attendance",
    "Bound",
    "Diagnostics",
    "Dropped",
    "Memory",
    "Rule",
    "Watch",
    "bind",
    "rule",
]
