"""A run put together from names and settings, as a command line gives them."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from functools import partial
from typing import Any, NamedTuple

from .._support.counting import count_of
from .._support.lookup import offered
from ..core import Bound, bind
from ..errors import InputError
from .attack_names import attack_named
from .defence_names import defence_named, ruled_by, watched_by
from .own import Own, is_own, load_own
from .scenario import Attack, Defence, Run, Task
from .tasks import task_named

__all__ = [
    "NUMBERS",
    "Numbers",
    "build_contest",
    "build_run",
    "has_setting",
    "numbers_of",
    "unattacked",
    "with_settings",
]

#: The numbers of a part of a run that are settings. Others are in Numbers.
NUMBERS: Mapping[str, tuple[str, ...]] = {
    "defence": (),
    "attack": ("poison_fraction", "poison_per_batch", "exposure", "sleeps", "period"),
    "task": ("epochs", "batch_size", "n_root", "n_together", "warm_epochs", "minority_share", "statistics"),
}


@dataclass(frozen=True)
class Numbers:
    """How many rounds and clients a run has; None leaves it as the task has it.

    Those of a round and the malicious ones may be shares of the clients, rounded up.

    >>> build_run("digits", numbers=Numbers(n_rounds=3)).task.n_rounds
    3
    >>> build_run("digits", attack="edge-case", numbers=Numbers(n_malicious="5%")).attack.n_malicious
    3
    """

    n_rounds: int | None = None
    n_clients: int | None = None
    n_per_round: int | str | None = None
    n_malicious: int | str | None = None


def build_run(
    task: str | Task,
    *,
    attack: str | Attack | None = "none",
    defence: Any = "fedavg",
    watch: Any = None,
    settings: Mapping[str, Any] | None = None,
    numbers: Numbers | None = None,
    seed: int = 0,
    sampling: Any = "uniform",
    scale: str = "cpu",
) -> Run:
    """Return the run of these names or values; a setting goes to the one function in it that has it.

    Where several have it, name the function too: `invariant.tau`. A watch may also stand in the defence's
    name: "factions+invariant". A task may be a Python file of your own, "mine.py" or "mine.py:small", whose
    attacks and rules then have names, too. With no attack named, it is the file's only one, or "edge-case".
    On a task that comes with holdfast, what is in a file here is called by both names: "mine.my_rule".

    >>> run = build_run("phishing", attack="edge-case", defence="and-mask", settings={"tau": 0.5, "lr": 0.2})
    >>> print(run.defence.aggregate, run.task.train)
    and_mask(tau=0.5, strict=False) batched_sgd(lr=0.2, momentum=0.0)
    """
    counts = {name: count for name, count in asdict(numbers or Numbers()).items() if count is not None}
    plain, beside = _task(task, scale)
    n_clients = counts.get("n_clients", plain.n_clients)
    counts = {name: count_of(count, n_clients) for name, count in counts.items()}
    n_malicious = counts.pop("n_malicious", None)
    built = replace(plain, **counts)
    if attack is None:
        attack = "edge-case" if beside is None else beside.only_attack()
    own = beside or _own_named(attack, defence, watch)
    if isinstance(attack, str):
        attacking = attack_named(attack, built, n_malicious=n_malicious, own=own)
    else:
        attacking = attack if n_malicious is None else replace(attack, n_malicious=n_malicious)
    if not attacking.n_malicious:  # whatever nobody does is one and the same training
        attacking = Attack(backdoor=attacking.backdoor)
    run = Run(built, attacking, _defending(defence, watch, built, attacking, own), seed, sampling)
    return with_settings(run, settings or {})


def _task(task: str | Task, scale: str) -> tuple[Task, Own | None]:
    """Return the task, and what stands beside it in a file of the user's own."""
    if isinstance(task, str) and not is_own(task):
        return task_named(task, scale=scale), None
    if scale != "cpu":
        raise InputError(
            f"the scale {scale!r} is for the tasks that come with holdfast; a task of your own runs as it is"
            " written: set its numbers of rounds and clients"
        )
    if isinstance(task, Task):
        return task, None
    where, _, name = task.partition(":")
    own = load_own(where)
    return own.only_task(name), own


def _own_named(*names: Any) -> Own | None:
    """Return the user's own module that names begin with, "mine" in "mine.my_rule"; None without one."""
    parts = [part for name in names if isinstance(name, str) for part in name.split("+") if is_own(part)]
    modules = sorted({part.replace(".py:", ".").rpartition(".")[0] for part in parts})
    if len(modules) > 1:
        raise InputError(f"what is your own must be in one file; got names from {' and '.join(modules)}")
    return replace(load_own(modules[0]), has_task=False) if modules else None


def _defending(defence: Any, watch: Any, task: Task, attack: Attack, own: Own | None) -> Defence:
    """Return the defence of this name, or this rule as one, under the watch."""
    if isinstance(defence, str):
        built = defence_named(defence, task, attack, own=own)
    else:
        built = defence if isinstance(defence, Defence) else ruled_by(defence, task, attack)
    return built if watch is None else watched_by(watch, built, own=own)


def build_contest(
    task: str | Task,
    defences: Iterable[Any] | Mapping[str, Any],
    *,
    seeds: Sequence[int] = (0,),
    settings: Mapping[str, Any] | None = None,
    **choices: Any,
) -> dict[str, list[Run]]:
    """Return each defence's runs, one per seed; the other choices are those of `build_run`.

    Defences are names, rules or Defence values; a mapping gives them names of their own. A setting goes to
    the defences that have it; at least one must. With a defence's name before it, it goes to that one alone:
    `mine.tau`. A `watch` watches all of them.

    >>> contest = build_contest("digits", ["median", "rfa"], seeds=(0, 5), attack="edge-case")
    >>> [run.seed for run in contest["rfa"]]
    [0, 5]
    """
    plain: dict[str, Run] = {}
    for given in defences:
        run = build_run(task, defence=defences[given] if isinstance(defences, Mapping) else given, **choices)
        if isinstance(defences, Mapping):
            run = run.replace(defence=replace(run.defence, name=given))
        if run.defence.name in plain:
            are_names = all(isinstance(one, str) for one in (*defences, given))
            advice = "take one away" if are_names else "name them, as in {'mine': rule}"
            raise InputError(f"two defences are called {run.defence.name}: {advice}")
        plain[run.defence.name] = run
    for name, value in (settings or {}).items():
        called = [defence for defence, run in plain.items() if _called(run, name)]
        fitting = called or [defence for defence, run in plain.items() if _matching(run, name)]
        for defence in fitting or plain:  # where none fits, the first to refuse it says why
            plain[defence] = _with_setting(plain[defence], name, value)
    return {defence: [run.replace(seed=seed) for seed in seeds] for defence, run in plain.items()}


def with_settings(run: Run, settings: Mapping[str, Any]) -> Run:
    """Return the run with these settings, each in the one function of the run that has it.

    >>> with_settings(build_run("phishing", defence="invariant"), {"tau": 0.9}).defence.aggregate
    invariant(tau=0.9, alpha=0.25, strict=False)
    """
    for name, value in settings.items():
        run = _with_setting(run, name, value)
    return run


def has_setting(run: Run, name: str) -> bool:
    """Return whether a run has a setting.

    >>> has_setting(build_run("phishing"), "tau")
    False
    """
    return bool(_matching(run, name))


def unattacked(run: Run) -> Run:
    """Return the same run with honest clients only, still measured by the backdoor.

    >>> unattacked(build_run("phishing", attack="edge-case")).attack.n_malicious
    0
    """
    return replace(run, attack=Attack(backdoor=run.attack.backdoor))


def numbers_of(part: str, value: Any) -> tuple[str, ...]:
    """Return the numbers of a run's attack, task or defence that are settings.

    An attack by nobody has none, and only a task with a minority has a share of it.

    >>> [name for name in NUMBERS["task"] if name not in numbers_of("task", build_run("digits").task)]
    ['minority_share']
    """
    if part == "attack" and not value.n_malicious:
        return ()
    absent = ("minority_share",) if part == "task" and value.minority is None else ()
    return tuple(name for name in NUMBERS[part] if name not in absent)


class _Setting(NamedTuple):
    owner: str
    name: str
    change: Callable[[Any], Run]  # returns the run with this value
    called: tuple[str, ...] = ()  # what else the owner is called: a variable's name, a defence's

    @property
    def path(self) -> str:
        return f"{self.owner}.{self.name}"


def _with_setting(run: Run, name: str, value: Any) -> Run:
    found = _matching(run, name)
    number = name.removeprefix("task.").removeprefix("attack.")
    if not found and number in asdict(Numbers()):
        option = number.removeprefix("n_").replace("_", "-")
        raise InputError(
            f"{number} is an option of its own, not a setting: write --{option} {value}, or in Python"
            f" numbers=Numbers({number}={value!r})"
        )
    if not found:
        paths = dict.fromkeys(setting.path for setting in _settings(run))
        near = paths if "." in name else [path.rpartition(".")[2] for path in paths]
        raise InputError(f"this run has no setting {name!r}{offered(name, paths, lead='It has', near=near)}")
    if len(found) > 1:
        choices = " or ".join(setting.path for setting in found)
        raise InputError(f"{found[0].name!r} could be a setting of several: write {choices}")
    return found[0].change(value)


def _matching(run: Run, name: str) -> list[_Setting]:
    """Return the settings that a name may mean; a defence's own name counts before that of its function."""
    return _called(run, name) or [one for one in _settings(run) if name in (one.name, one.path)]


def _called(run: Run, name: str) -> list[_Setting]:
    """Return the settings that a name means which begins with that of the defence, its rule or its watch."""
    owner, _, last = name.rpartition(".")
    return [one for one in _settings(run) if one.name == last and owner in one.called]


def _settings(run: Run) -> Iterator[_Setting]:
    """Yield every setting of a run."""
    for part in NUMBERS:
        numbers = numbers_of(part, getattr(run, part))
        for field, held in vars(getattr(run, part)).items():
            if field == "warm":  # it may be the clients' own function, whose settings have the same names
                continue
            change = partial(_with_field, run, part, field)
            if field in numbers:
                yield _Setting(part, field, change)
            for position, bound in enumerate(held if isinstance(held, tuple) else (held,)):
                if isinstance(bound, Bound):
                    called = _names_of(run.defence, field) if part == "defence" else ()
                    for depth, owner, name in _of_both(bound):
                        rebound = partial(_rebound, change, held, position, depth, name)
                        yield _Setting(owner, name, rebound, called)


def _of_both(bound: Bound[Any], depth: int = 0) -> Iterator[tuple[int, str, str]]:
    """Yield the settings of a function and of the rules behind it: how far behind, whose, its name."""
    hidden = () if bound.inner is None else ("rule",)  # which the defence's name says
    yield from ((depth, bound.name, name) for name, _ in bound.settings if name not in hidden)
    if bound.inner is not None:
        yield from _of_both(bound.inner, depth + 1)


def _names_of(defence: Defence, field: str) -> tuple[str, ...]:
    """Return what the parts of a defence are called: in keen+strict the watch is keen, all else strict."""
    watch, plus, rule = defence.name.partition("+")
    if defence.watch is None or not plus:
        return (defence.name,)
    return (watch if field == "watch" else rule, defence.name)


def _with_field(run: Run, part: str, field: str, value: Any) -> Run:
    return run.replace(**{part: replace(getattr(run, part), **{field: value})})


def _rebound(
    change: Callable[[Any], Run], held: Any, position: int, depth: int, name: str, value: Any
) -> Run:
    """Return the run in which one function, alone in a field or at a position in it, has this setting.

    At a depth it is the one so far behind it.
    """
    other = _changed(held[position] if isinstance(held, tuple) else held, depth, name, value)
    return change((*held[:position], other, *held[position + 1 :]) if isinstance(held, tuple) else other)


def _changed(bound: Bound[Any], depth: int, name: str, value: Any) -> Any:
    if depth:
        assert bound.inner is not None
        name, value = "rule", _changed(bound.inner, depth - 1, name, value)
    return bind(bound, bound.role, **{name: value})
