"""A Python file of your own: the tasks, attacks, defences, rules and watches in it, by their names there."""

import sys
import traceback
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from importlib import import_module, reload
from importlib.machinery import PathFinder
from pathlib import Path
from types import ModuleType
from typing import Any, TypeVar

from .._support.lookup import offered
from ..core import Rule, Watch
from ..errors import InputError
from .scenario import Attack, Defence, Task

__all__ = ["Own", "is_own", "load_own"]

T = TypeVar("T")

#: Of the modules that were loaded from a file, what was in it.
_SOURCES: dict[ModuleType, bytes] = {}


@dataclass(frozen=True)
class Own:
    """What a file or module of a user's own holds, by the names of its variables.

    >>> Own("mine.py", "mine", {}, {}, {}, {}, {}).only_task("")
    Traceback (most recent call last):
    holdfast.errors.InputError: mine.py holds no task: write task = holdfast.lab.Task(...) into it
    """

    where: str
    module: str
    tasks: Mapping[str, Task]
    attacks: Mapping[str, Attack]
    defences: Mapping[str, Defence]
    rules: Mapping[str, Rule]
    watches: Mapping[str, Watch]
    has_task: bool = True  # whether the task of a run is from here, too

    def only_task(self, name: str) -> Task:
        """Return the task of this name; with no name, the only one there is."""
        if not self.tasks:
            raise InputError(f"{self.where} holds no task: write task = holdfast.lab.Task(...) into it")
        if not name and len(self.tasks) > 1:
            choices = " or ".join(f"{self.where}:{task}" for task in self.tasks)
            raise InputError(f"{self.where} holds {len(self.tasks)} tasks: write {choices}")
        if not name:
            return next(iter(self.tasks.values()))
        task = named_in(self.tasks, name)
        if task is None:
            raise InputError(f"{self.where} holds no task {name!r}{offered(name, self.tasks, lead='It has')}")
        return task

    def only_attack(self) -> Attack:
        """Return the only attack, which needs no name."""
        if len(self.attacks) == 1:
            return next(iter(self.attacks.values()))
        held = f"{len(self.attacks)} attacks: {', '.join(self.attacks)}" if self.attacks else "no attack"
        raise InputError(f"{self.where} holds {held}; name one with --attack, or none for honest clients")

    def plain_name(self, name: str) -> str:
        """Return the name without the module before it.

        >>> Own("mine.py", "mine", {}, {}, {}, {}, {}).plain_name("mine.middle")
        'middle'
        """
        return name.removeprefix(f"{self.module}.").removeprefix(f"{self.module.rpartition('.')[2]}.")

    def full_name(self, plain: str) -> str:
        """Return the name that commands find; the module is part of it beside a task of holdfast's.

        >>> Own("mine", "mine", {}, {}, {}, {}, {}, has_task=False).full_name("middle")
        'mine.middle'
        """
        return plain if self.has_task else f"{self.module}.{plain}"


def is_own(text: str) -> bool:
    """Return whether this names a file or module of the user's own, not a task that comes with holdfast.

    >>> is_own("mine.py"), is_own("package.tasks:small"), is_own("digits")
    (True, True, False)
    """
    return "." in text or ":" in text


def load_own(text: str) -> Own:
    """Return what a Python file, or a module that can be imported, holds; the file is run to find out.

    >>> sorted(load_own("holdfast.lab.simulation").tasks)
    []
    >>> load_own("nowhere.py")
    Traceback (most recent call last):
    holdfast.errors.InputError: no file nowhere.py
    """
    if not text.endswith(".py") and not all(map(str.isidentifier, text.split("."))):
        raise InputError(f"{text!r} is no Python file, as mine.py, and no module, as package.tasks")
    module = _from_file(Path(text)) if text.endswith(".py") else _imported(text, text, Path.cwd())
    rules = {
        name: value
        for name, value in _held(module, Rule)
        if value.function.__module__.partition(".")[0] != __name__.partition(".")[0] or name != value.name
    }  # not ours, which a file imports
    watches = {name: value for name, value in _held(module, Watch) if name != value.name}
    tasks, attacks = dict(_held(module, Task)), dict(_held(module, Attack))
    return Own(text, module.__name__, tasks, attacks, dict(_held(module, Defence)), rules, watches)


def named_in(held: Mapping[str, T], name: str) -> T | None:
    """Return what a variable of this name holds, or else the value that calls itself so; None for neither.

    >>> named_in({"attack": Attack("corner", 3)}, "corner").n_malicious
    3
    """
    if name in held:
        return held[name]
    return next((value for value in held.values() if getattr(value, "name", None) == name), None)


def _held(module: ModuleType, kind: type[T]) -> Iterator[tuple[str, T]]:
    """Yield the variables that hold a value of this kind, each value once."""
    seen: list[Any] = []
    for name, value in vars(module).items():
        if isinstance(value, kind) and not name.startswith("_") and not any(value is one for one in seen):
            seen.append(value)
            yield name, value


def _from_file(path: Path) -> ModuleType:
    """Import a file as worker processes will: by its bare name, from its own folder."""
    if not path.is_file():
        raise InputError(f"no file {path}")
    if not path.stem.isidentifier():
        raise InputError(f"{path} cannot be imported: rename it to letters, digits and underscores")
    if taken := _installed(path.stem):
        raise InputError(f"{path} has the name of another module, {taken}: rename the file")
    source = path.read_bytes()
    module = _imported(path.stem, str(path), path.resolve().parent)
    if _SOURCES.setdefault(module, source) != source:  # edited since, under a notebook that still runs
        module, _SOURCES[module] = reload(module), source
    found = getattr(module, "__file__", None)
    if found is None or not Path(found).samefile(path):
        raise InputError(
            f"{path} has the name of another module, {found or module.__name__}: rename the file"
        )
    return module


def _installed(name: str) -> str | None:
    """Return where Python or an installed package has a module of this name, which a file would hide."""
    spec = PathFinder.find_spec(name, [place for place in sys.path if place.endswith("-packages")])
    if spec is not None and spec.origin is not None:
        return spec.origin
    return f"{name} of Python" if name in sys.stdlib_module_names else None


def _imported(name: str, where: str, folder: Path) -> ModuleType:
    """Import a module, with the folder on the path; what goes wrong in it is told with its line."""
    if str(folder) not in sys.path:
        sys.path.insert(0, str(folder))  # worker processes get the same path
    try:
        return import_module(name)
    except (Exception, SystemExit) as error:
        if isinstance(error, ModuleNotFoundError) and error.name == name.partition(".")[0]:
            raise InputError(f"no module {name!r}, and no file of that name in {folder}") from None
        lines = [frame for frame in traceback.extract_tb(error.__traceback__) if _is_own_file(frame, where)]
        line = f" (line {lines[-1].lineno})" if lines else ""
        said = str(error) if isinstance(error, InputError) else f"{type(error).__name__}: {error}"
        if isinstance(error, ImportError) and "relative import" in said:
            said += f"; write {folder.name}.{name}, in the folder that holds {folder.name}"
        raise InputError(f"{where} cannot be used{line}: {said}") from error


def _is_own_file(frame: traceback.FrameSummary, where: str) -> bool:
    return Path(frame.filename).name == Path(where).name
