"""What a comparison is asked for, checked before anything is built."""

from collections.abc import Iterable, Mapping
from typing import Any

from ..errors import InputError
from ..lab.attack_parts import BACKDOORS
from ..lab.choices import Numbers
from ..lab.scenario import Attack, Defence, Task
from ..lab.tasks import base_name

__all__ = ["check_choices", "defences_listed"]


def check_choices(*, task: Any, attack: Any, settings: Any = None, numbers: Any = None) -> None:
    """Raise an InputError if one of the choices is of a kind that none can be.

    >>> check_choices(task="digits", attack=3)
    Traceback (most recent call last):
    holdfast.errors.InputError: attack must be a name, such as "edge-case+collude", or an Attack; got 3
    """
    kinds = [
        ("task", task, str | Task, 'a name, such as "digits", a file, such as "mine.py", or a Task'),
        ("attack", attack, str | Attack | None, 'a name, such as "edge-case+collude", or an Attack'),
        ("settings", settings, Mapping | None, 'a mapping, such as {"lr": 0.1}'),
        ("numbers", numbers, Numbers | None, "Numbers, such as holdfast.lab.Numbers(n_rounds=5)"),
    ]
    for name, value, kind, wanted in kinds:
        if not isinstance(value, kind):
            raise InputError(f"{name} must be {wanted}; got {value!r}")
    if (
        isinstance(task, Task)
        and attack is None
        and "edge-case" not in BACKDOORS.get(base_name(task.name), {})
    ):
        raise InputError(
            f"the task {task.name} comes without an attack: pass one, attack=Attack(...), a name such as"
            ' "sign-flip", or "none"'
        )


def defences_listed(defences: Any) -> list[Any] | Mapping[str, Any]:
    """Return the defences, once it is clear that there are some, and of which names.

    >>> defences_listed("median")
    Traceback (most recent call last):
    holdfast.errors.InputError: defences must be a list, or a mapping by name; got 'median': write ['median']
    """
    if isinstance(defences, str | Defence) or not isinstance(defences, Iterable):
        raise InputError(
            f"defences must be a list, or a mapping by name; got {defences!r}: write [{defences!r}]"
        )
    listed = defences if isinstance(defences, Mapping) else list(defences)
    if not listed:
        raise InputError("name at least one defence; got none")
    if isinstance(listed, Mapping) and not all(isinstance(name, str) for name in listed):
        raise InputError(f"the names of defences must be texts; got {', '.join(map(repr, listed))}")
    return listed
