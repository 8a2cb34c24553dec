"""The laboratory: tasks, attacks and defences, and what is done with them.

`simulate` trains under attack, round by round. `compare` puts defences side by side over whole trainings,
`probe` on the updates of one round, and `check` tells whether a rule of your own keeps what a rule promises.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from .attack_names import attack_named
from .attack_parts import ATTACKS, BACKDOORS
from .choices import Numbers, build_contest, build_run
from .defence_names import CLIENT_SIDE, SERVER_SIDE, WATCHES, defence_named
from .scenario import Attack, Defence, Run, Task
from .simulation import Record, State, simulate
from .tasks import SCALES, TASKS, task_named

if TYPE_CHECKING:
    from ..comparing import compare
    from ..comparing.probing import probe
    from .conformance import check

__all__ = [
    "ATTACKS",
    "BACKDOORS",
    "CLIENT_SIDE",
    "SCALES",
    "SERVER_SIDE",
    "TASKS",
    "WATCHES",
    "Attack",
    "Defence",
    "Numbers",
    "Record",
    "Run",
    "State",
    "Task",
    "attack_named",
    "build_contest",
    "build_run",
    "check",
    "compare",
    "defence_named",
    "probe",
    "simulate",
    "task_named",
]

#: What not everybody needs, or lies in rooms to the right, is imported when it is first asked for.
_HOMES = {
    "check": "holdfast.lab.conformance",
    "compare": "holdfast.comparing",
    "probe": "holdfast.comparing.probing",
}


def __getattr__(name: str) -> Any:
    """Import a name on first use."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    value = getattr(import_module(_HOMES[name]), name)
    globals()[name] = value
    return value
