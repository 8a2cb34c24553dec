"""What there is to choose from, with every setting and its default."""

import inspect
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any, Literal, get_args

from .. import aggregators
from ..core import Bound, bind
from .attack_names import attack_named
from .attack_parts import ATTACKS, BACKDOORS, POISON
from .attacks import hiding
from .choices import NUMBERS, numbers_of
from .defence_names import CLIENT_SIDE, FRONTS, SERVER_SIDE, WATCHES, defence_named
from .gists import GISTS
from .own import Own
from .scenario import Attack, Task
from .tasks import TASKS, base_name

__all__ = ["GROUPS", "KINDS", "Choice", "Kind", "list_choices"]

Kind = Literal["tasks", "attacks", "defences", "watches"]
KINDS: tuple[Kind, ...] = get_args(Kind)

#: Defaults that only the task and the attack at hand can give.
FROM_THE_RUN = {
    "n_malicious": "f, the attackers expected per round",
    "threshold": "twice the attackers expected per round",
}
BY_TASK = "as the task has it"

#: The parts of an attack's name that stand for no function.
CONDUCT = {
    "collude": "Attackers train one update on the examples of all attackers, and all of them send it.",
    "sleeper": "Attackers are honest for some rounds, by default half of the training, before they attack.",
    "on-off": "Attackers attack in every second round, or more rarely, and are honest in between.",
    "whitewash": "Attackers whom the server expels come back under new ids.",
    "mask": "Half of the attackers label poisoned examples correctly, and hide the others' backdoor.",
}

#: Where such a part was published.
PAPERS = {"mask": "https://arxiv.org/abs/2508.15541"}

#: What there is among attacks and among defences.
ATTACK_GROUPS: Mapping[str, str] = {
    "backdoor": "backdoors",
    "train": "ways to train",
    "crafts": "ways to change the updates",
    "hiding": "ways to hide",
    "conduct": "ways to behave",
}
DEFENCE_GROUPS: Mapping[str, str] = {
    "rule": "rules",
    "front": "rules in front of another, as in nnm+krum",
    "clients": "ways in which honest clients train, as in flip+krum",
    "server": "ways in which the server trains after each round, as in csft+krum",
}
#: In which order they are shown.
GROUPS = ("", *ATTACK_GROUPS.values(), *DEFENCE_GROUPS.values())


@dataclass(frozen=True)
class Choice:
    """A name, what is behind it in one sentence and in a few words, and its settings with their defaults."""

    name: str
    what: str
    settings: dict[str, Any]
    tasks: tuple[str, ...] = ()  # the tasks it is for; empty: for all
    paper: str = ""  # where it was published, if it was
    gist: str = ""  # by default the sentence
    group: str = ""  # what it is one of, among those of its kind

    def __post_init__(self) -> None:
        """Write out a setting that is a function, such as the rule behind another."""
        object.__setattr__(self, "gist", self.gist or self.what)
        written = {
            name: repr(value) if isinstance(value, Bound) else value for name, value in self.settings.items()
        }
        object.__setattr__(self, "settings", written)


def list_choices(kind: Kind, *, own: Own | None = None) -> list[Choice]:
    """Return all tasks, parts of an attack's name, defences, or watches that may stand before a defence.

    With `own`, those in a user's file, by the names they have there.

    >>> [entry.name for entry in list_choices("tasks")][:6]
    ['phishing', 'phishing-noniid', 'digits', 'phishing-urls', 'spambase', 'fashion-mnist']
    """
    if own is not None:
        return list(_owned(kind, own))
    found: Iterable[Choice]
    if kind == "tasks":
        found = map(_task, TASKS.values())
    elif kind == "watches":
        found = (Choice(name, _sentence(watch), dict(watch.settings)) for name, watch in WATCHES.items())
    else:
        found = _attacks() if kind == "attacks" else _defences()
    return [replace(entry, gist=GISTS[kind].get(entry.name, entry.what)) for entry in found]


def _owned(kind: Kind, own: Own) -> Iterator[Choice]:
    """Yield what a user's file holds of a kind."""
    if kind == "tasks":
        for name, task in own.tasks.items():
            found = _task(task)
            yield replace(found, name=name, what=found.what.strip() or task.name)
    elif kind == "watches":
        yield from (Choice(name, _sentence(one), dict(one.settings)) for name, one in own.watches.items())
    elif kind == "attacks":
        for name, attack in own.attacks.items():
            numbers = {field: getattr(attack, field) for field in ("n_malicious", *NUMBERS["attack"])}
            functions = [one for one in (attack.backdoor, attack.train, *attack.crafts) if one is not None]
            what = _sentence(functions[0].function) if functions else ""
            yield Choice(name, what or attack.name, numbers | _named_settings(functions))
    else:
        for name, rule in own.rules.items():
            required = {setting: FROM_THE_RUN.get(setting, "must be set") for setting in rule.missing}
            yield Choice(name, _sentence(rule), {**dict(rule.settings), **required})
        for name, defence in own.defences.items():
            parts = [one for one in (defence.aggregate, defence.train, defence.watch) if one is not None]
            what = _sentence(parts[0].function) or defence.name
            yield Choice(name, what, _named_settings(parts))


def _task(task: Task) -> Choice:
    numbers = ("n_rounds", "n_clients", "n_per_round", *numbers_of("task", task))
    settings = {name: getattr(task, name) for name in numbers}
    functions = [task.train, task.split, task.model, task.data]
    what = f"{_sentence(task.data.function)} {_sentence(task.model.function)}"
    if task.minority:
        functions.append(task.minority)
        what += f" A minority of the clients has {_phrase(task.minority.function)}"
    return Choice(task.name, what, settings | _named_settings(functions))


def _attacks() -> Iterator[Choice]:
    yield Choice("none", "Every client is honest.", {})
    for base, backdoors in BACKDOORS.items():
        tasks = tuple(task for task in TASKS if base_name(task) == base)
        for name, backdoor in backdoors.items():
            settings, paper = _of_backdoor(base, backdoor), _paper(backdoor.function)
            yield Choice(
                name, _sentence(backdoor.function), settings, tasks, paper, group=ATTACK_GROUPS["backdoor"]
            )
    for name in ATTACKS:
        attacks = [attack_named(name, task) for task in TASKS.values()]
        by_task = [[*([attack.train] if attack.train else []), *attack.crafts] for attack in attacks]
        if name in CONDUCT:
            numbers = [field for field in ATTACKS[name] if field in NUMBERS["attack"]]
            own = [{field: getattr(attack, field) for field in numbers} for attack in attacks]
            paper = PAPERS.get(name, "")
            yield Choice(name, CONDUCT[name], _shared(own), paper=paper, group=ATTACK_GROUPS["conduct"])
        else:
            first, settings = by_task[0][0].function, _shared(map(_named_settings, by_task))
            way = "hiding" if first.__module__ == hiding.__name__ else "crafts"
            group = ATTACK_GROUPS["train" if "train" in ATTACKS[name] else way]
            yield Choice(name, _sentence(first), settings, paper=_paper(first), group=group)


def _named_settings(functions: list[Bound[Any]]) -> dict[str, Any]:
    """Return the settings, each named with its function because others may have it too."""
    return {f"{function.name}.{name}": value for function in functions for name, value in function.settings}


def _shared(by_task: Iterable[dict[str, Any]]) -> dict[str, Any]:
    """Return the settings with the values that they have on all tasks."""
    first, *others = by_task
    return {
        name: value if all(other[name] == value for other in others) else BY_TASK
        for name, value in first.items()
    }


def _of_backdoor(task: str, backdoor: Bound[Any]) -> dict[str, Any]:
    """Return its settings, and those of every attack."""
    own = {**_named_settings([backdoor]), "poison_fraction": POISON.get(task, Attack.poison_fraction)}
    return own | ({"exposure": Attack.exposure} if backdoor.needs("exposure") else {})


def _defences() -> Iterator[Choice]:
    for name in aggregators.__all__:
        rule = getattr(aggregators, name)
        required = {setting: FROM_THE_RUN.get(setting, "must be set") for setting in rule.missing}
        settings = {**dict(rule.settings), **required}
        settings |= _exceptions(name, settings)
        group = DEFENCE_GROUPS["front" if name in FRONTS else "rule"]
        yield Choice(name, _sentence(rule), settings, paper=_paper(rule), group=group)
    for name, train in {**CLIENT_SIDE, **SERVER_SIDE}.items():
        # Who makes examples makes them in numbers, not in text.
        is_any = not bind(train, "training").needs("span")
        tasks = [task for task in TASKS.values() if is_any or not task.model.needs("vectors")]
        defences = [defence_named(name, task, Attack()) for task in tasks]
        by_task = [[defence.train or defence.after, defence.predict] for defence in defences]
        shared = _shared(map(_named_settings, by_task))
        limits = () if is_any else tuple(task.name for task in tasks)
        group = DEFENCE_GROUPS["clients" if name in CLIENT_SIDE else "server"]
        yield Choice(name, _sentence(train), shared, limits, _paper(train), group=group)


def _exceptions(name: str, settings: dict[str, Any]) -> dict[str, str]:
    """Return the settings of a rule that differ on some task: the default, and theirs."""
    chosen = {
        task.name: dict(defence_named(name, task, Attack()).aggregate.settings) for task in TASKS.values()
    }
    exceptions = {}
    for setting, value in settings.items():
        others = [f"{task}: {own[setting]}" for task, own in chosen.items() if own[setting] != value]
        if others and setting not in FROM_THE_RUN:
            exceptions[setting] = f"{value} ({', '.join(others)})"
    return exceptions


def _sentence(function: Any) -> str:
    """Return the first line of the docstring, without its verb."""
    line = _phrase(function)
    return line[:1].upper() + line[1:]


def _paper(function: Any) -> str:
    """Return the first address in the docstring."""
    found = re.search(r"https://[^\s,;)]+", inspect.getdoc(function) or "")
    return found.group().rstrip(".:") if found else ""


def _phrase(function: Any) -> str:
    return (inspect.getdoc(function) or "").partition("\n")[0].removeprefix("Return ")
