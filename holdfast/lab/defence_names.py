"""The defences that have a name: what `holdfast run` puts together with a task.

"factions+invariant" is the rule `invariant` under the watch `factions`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from .. import aggregators
from .._support.counting import whole_share
from .._support.lookup import nearest
from ..aggregators.invariant import PUBLISHED
from ..core import Watch, bind
from ..errors import InputError
from ..watching import factions
from .attack_names import fitted, pace_of
from .inference import confident
from .own import Own, named_in
from .scenario import Attack, Defence, Task
from .tasks import base_name
from .training import flip, flip_compact

__all__ = ["CLIENT_SIDE", "WATCHES", "defence_named", "ruled_by", "watched_by"]

#: The defences in which honest clients do their part: how they train.
CLIENT_SIDE: Mapping[str, Callable[..., Any]] = MappingProxyType({"flip": flip_compact, "flip_full": flip})

#: The watches over the clients, the part before the + in a defence's name.
WATCHES: Mapping[str, Watch] = MappingProxyType({"factions": factions})


def defence_named(name: str, task: Task, attack: Attack, *, own: Own | None = None) -> Defence:
    """Return the rule of this name, which assumes as many attackers as there are on average.

    What stands before a + is a watch over the clients. Both may be the user's `own`.

    >>> from holdfast.lab import task_named
    >>> task = task_named("phishing")
    >>> print(defence_named("krum", task, attack_named("edge-case", task)).aggregate)
    krum(n_malicious=4)
    >>> defence_named("factions+median", task, attack_named("none", task)).watch.name
    'factions'
    """
    watch, plus, rule = name.rpartition("+")
    if plus:
        _watch(watch, own)  # what stands before the rule is wrong first
    defence = _own_defence(rule, task, attack, own) or _ruled(rule.replace("-", "_"), task, attack, own)
    return watched_by(watch, defence, own=own) if plus else defence


def watched_by(watch: str | Watch, defence: Defence, *, own: Own | None = None) -> Defence:
    """Return the defence under a watch, or under the watch of this name.

    >>> watched_by("factions", Defence()).name
    'factions+fedavg'
    """
    if defence.watch is not None:
        raise InputError(f"{defence.name} has a watch already; a defence has at most one")
    name, value = _watch(watch, own) if isinstance(watch, str) else (bind(watch, "watch").name, watch)
    return replace(defence, name=f"{name}+{defence.name}", watch=value)


def _watch(name: str, own: Own | None) -> tuple[str, Watch]:
    """Return the watch of this name, without the module before it."""
    known = {**WATCHES, **({} if own is None else own.watches)}
    plain = name if own is None else own.plain_name(name)
    if plain not in known:
        raise InputError(
            f"no watch {name!r}; {nearest(name, known)}There are: {', '.join(known)}. A defence has at"
            " most one, before its rule: factions+invariant"
        )
    return plain, known[plain]


def ruled_by(rule: Any, task: Task, attack: Attack, *, name: str | None = None) -> Defence:
    """Return a rule as a defence; what it needs to know of the attackers, and is not told, is filled in.

    >>> from holdfast import multi_krum
    >>> from holdfast.lab import TASKS
    >>> ruled_by(multi_krum, TASKS["digits"], Attack("some", 10)).aggregate
    multi_krum(n_malicious=4, n_selected=None, weighted=False)
    """
    bound = bind(rule, "rule")
    expected = {
        setting: value for setting, value in _expected(task, attack).items() if setting in bound.missing
    }
    return Defence(name or bound.name, bind(bound, "rule", **expected))


def _own_defence(name: str, task: Task, attack: Attack, own: Own | None) -> Defence | None:
    """Return the defence or rule of a user's own that has this name; None if there is none."""
    if own is None:
        return None
    plain = own.plain_name(name)
    rule, defence = own.rules.get(plain), named_in(own.defences, plain)
    if (rule or defence) and plain == name and name in {*aggregators.__all__, *CLIENT_SIDE}:
        raise InputError(
            f"{name!r} is in {own.where} and in holdfast: write {own.module}.{name}, or rename it there"
        )
    return ruled_by(rule, task, attack, name=plain) if rule else defence


def _expected(task: Task, attack: Attack) -> dict[str, int]:
    """Return what rules are told of the attackers: how many to expect in a round, and twice as many."""
    n_expected = whole_share(attack.n_malicious / task.n_clients, task.n_per_round)
    return {"n_malicious": n_expected, "threshold": 2 * n_expected}


def _ruled(name: str, task: Task, attack: Attack, own: Own | None) -> Defence:
    """Return a defence without a watch."""
    if name in CLIENT_SIDE:
        return _client_side(name, task)
    if name in WATCHES:
        raise InputError(f"{name} is a watch, which needs a rule beside it: {name}+fedavg, for example")
    if name not in aggregators.__all__:
        owned = () if own is None else (*own.rules, *own.defences)
        known = [*owned, *aggregators.__all__, *CLIENT_SIDE]
        raise InputError(f"no defence {name!r}; {nearest(name, known)}There are: {', '.join(known)}")
    settings: dict[str, Any] = {**_expected(task, attack)}
    base = base_name(task.name)
    if name == "sign_sgd" and base == "phishing":
        settings["step"] = 0.01
    if name in ("invariant", "and_mask") and base in PUBLISHED:
        settings["tau"] = PUBLISHED[base]["tau"]
    return Defence(name, fitted(getattr(aggregators, name), "rule", settings))


def _client_side(name: str, task: Task) -> Defence:
    """Return plain averaging of clients who train in a way of their own, and a model that may decline."""
    if task.model.needs("vectors"):
        raise InputError(f"{name} inverts triggers in numbers; {task.name} is text, for which there is none")
    train = CLIENT_SIDE[name]
    pace = {} if train is flip else pace_of(task)  # flip trains by Adam, at a pace of its own
    return Defence(name, train=fitted(train, "training", pace), predict=confident)
