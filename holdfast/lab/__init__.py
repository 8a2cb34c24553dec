"""The laboratory: tasks, attacks and defences, and `simulate`, which trains under attack."""

from .choices import build_contest, build_run
from .names import ATTACKS, BACKDOORS, CLIENT_SIDE, WATCHES, attack_named, defence_named
from .scenario import Attack, Defence, Run, Task
from .simulation import Record, State, simulate
from .tasks import SCALES, TASKS, task_named

__all__ = [
    "ATTACKS",
    "BACKDOORS",
    "CLIENT_SIDE",
    "SCALES",
    "TASKS",
    "WATCHES",
    "Attack",
    "Defence",
    "Record",
    "Run",
    "State",
    "Task",
    "attack_named",
    "build_contest",
    "build_run",
    "defence_named",
    "simulate",
    "task_named",
]
