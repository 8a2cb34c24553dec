"""A run put together from names and settings, as a command line gives them."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields, replace
from typing import Any

from .._support.counting import check_whole
from .._support.lookup import nearest
from ..core import Bound, bind
from ..errors import InputError
from .names import attack_named, defence_named, task_named
from .scenario import Attack, Run

__all__ = ["Numbers", "build_contest", "build_run", "unattacked"]

#: Fields of a task and of an attack that are settings; the others are counted in Numbers, or are functions.
TASK_FIELDS = ("epochs", "batch_size", "n_root", "n_together", "warm_epochs")
ATTACK_FIELDS = ("poison_fraction", "exposure")


@dataclass(frozen=True)
class Numbers:
    """What is counted in a run; None leaves it as the task has it.

    >>> Numbers(n_rounds=3).changes
    {'n_rounds': 3}
    """

    n_rounds: int | None = None
    n_clients: int | None = None
    n_per_round: int | None = None
    n_malicious: int | None = None

    @property
    def changes(self) -> dict[str, Any]:
        """The fields of the task that are set."""
        counts = {field.name: getattr(self, field.name) for field in fields(self)[:-1]}
        return {name: count for name, count in counts.items() if count is not None}


def build_run(
    task: str,
    *,
    attack: str = "none",
    defence: str = "fedavg",
    settings: Mapping[str, Any] | None = None,
    numbers: Numbers | None = None,
    seed: int = 0,
    sampling: Any = "uniform",
    scale: str = "cpu",
) -> Run:
    """Return the run of these names; a setting goes to the one function of it that has it.

    Where two have it, `invariant.tau` says whose is meant.

    >>> run = build_run("phishing", attack="edge-case", defence="and-mask", settings={"tau": 0.5, "lr": 0.2})
    >>> print(run.defence.aggregate, run.task.train)
    and_mask(tau=0.5, strict=False) batched_sgd(lr=0.2, momentum=0.0)
    """
    numbers = numbers or Numbers()
    built = replace(task_named(task, scale=scale), **numbers.changes)
    attacking = attack_named(attack, built, n_malicious=numbers.n_malicious)
    run = Run(built, attacking, defence_named(defence.replace("-", "_"), built, attacking), seed, sampling)
    for name, value in (settings or {}).items():
        run = _with_setting(run, name, value)
    return run


def build_contest(
    task: str,
    defences: Iterable[str],
    *,
    n_seeds: int = 1,
    settings: Mapping[str, Any] | None = None,
    **choices: Any,
) -> dict[str, list[Run]]:
    """Return each defence's runs, one a seed; the other choices are those of `build_run`.

    A setting goes to the defences that have it, of which there must be one.

    >>> contest = build_contest("digits", ["median", "rfa"], n_seeds=3, attack="edge-case")
    >>> [run.seed for run in contest["rfa"]]
    [0, 1, 2]
    """
    check_whole("n_seeds", n_seeds, at_least=1)
    plain = {defence: build_run(task, defence=defence, **choices) for defence in defences}
    for name, value in (settings or {}).items():
        fitting = [defence for defence, run in plain.items() if _found(run, name)]
        for defence in fitting or plain:  # where it fits nobody, the first to refuse it says why
            plain[defence] = _with_setting(plain[defence], name, value)
    return {defence: [run.replace(seed=seed) for seed in range(n_seeds)] for defence, run in plain.items()}


def unattacked(run: Run) -> Run:
    """Return the same run with honest clients only, still measured by the backdoor.

    >>> unattacked(build_run("phishing", attack="edge-case")).attack.n_malicious
    0
    """
    return replace(run, attack=Attack(backdoor=run.attack.backdoor))


def _with_setting(run: Run, name: str, value: Any) -> Run:
    _, dot, bare = name.rpartition(".")
    known, found = _owners(run), _found(run, name)
    if not found:
        names = dict.fromkeys(setting for _, _, setting in known)
        whole = dict.fromkeys(f"{whose}.{setting}" for whose, _, setting in known)
        hint = nearest(name, whole if dot else names)
        raise InputError(f"this run has no setting {name!r}; {hint}It has: {', '.join(whole)}")
    if len(found) > 1:
        choices = " or ".join(f"{whose}.{bare}" for whose, _ in found)
        raise InputError(f"{bare!r} could be a setting of several: write {choices}")
    return _changed(run, found[0][1], bare, value)


def _found(run: Run, name: str) -> list[tuple[str, tuple[Any, ...]]]:
    """Return whose setting this could be, and where that is in the run."""
    owner, dot, bare = name.rpartition(".")
    return [
        (whose, where) for whose, where, own in _owners(run) if own == bare and (not dot or whose == owner)
    ]


def _owners(run: Run) -> list[tuple[str, tuple[Any, ...], str]]:
    """Return (whose it is, where that is in the run, setting) for every setting there is."""
    settings = [("task", ("task",), name) for name in TASK_FIELDS]
    if run.attack.n_malicious:
        settings += [("attack", ("attack",), name) for name in ATTACK_FIELDS]
    for where, bound in _bounds(run):
        settings += [(bound.name, where, name) for name, _ in bound.settings]
    return settings


def _bounds(run: Run) -> Iterator[tuple[tuple[Any, ...], Bound[Any]]]:
    yield ("defence", "aggregate"), run.defence.aggregate
    yield ("defence", "predict"), run.defence.predict
    if run.defence.train is not None:
        yield ("defence", "train"), run.defence.train
    if run.attack.backdoor is not None:
        yield ("attack", "backdoor"), run.attack.backdoor
    if run.attack.train is not None:
        yield ("attack", "train"), run.attack.train
    for position, craft in enumerate(run.attack.crafts):
        yield ("attack", "crafts", position), craft
    for part in ("train", "split", "model", "data"):
        yield ("task", part), getattr(run.task, part)


def _changed(run: Run, where: tuple[Any, ...], name: str, value: Any) -> Run:
    part: Any = getattr(run, where[0])
    if len(where) == 1:
        try:
            return run.replace(**{where[0]: replace(part, **{name: value})})
        except TypeError:
            raise InputError(f"{name} must be a number; got {value!r}") from None
    bound = dict(_bounds(run))[where]
    rebound: Any = bind(bound, bound.role, **{name: value})
    if len(where) == 3:
        rebound = tuple(rebound if i == where[2] else craft for i, craft in enumerate(part.crafts))
    return run.replace(**{where[0]: replace(part, **{where[1]: rebound})})
