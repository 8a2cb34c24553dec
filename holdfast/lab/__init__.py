"""The laboratory: tasks, attacks and defences, and `simulate`, which trains under attack."""

from .choices import build_contest, build_run
from .names import ATTACKS, BACKDOORS, CLIENT_SIDE, SCALES, TASKS, attack_named, defence_named, task_named
from .scenario import Attack, Defence, Run, Task
from .simulation import Record, State, simulate

__all__ = [
    "ATTACKS",
    "BACKDOORS",
    "CLIENT_SIDE",
    "SCALES",
    "TASKS",
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
