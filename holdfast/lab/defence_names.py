"""The defences that have a name: what `holdfast run` puts together with a task.

"factions+invariant" is the rule `invariant` under the watch `factions`, "nnm+krum" is `krum` behind `nnm`,
"lead_fl+krum" is `krum` with honest clients who train by `lead_fl`, "csft+krum" with a server that trains by
`csft` after each round.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from .. import aggregators
from .._support.counting import whole_share
from .._support.lookup import listed_by, nearest
from .._support.signatures import is_in_front
from ..aggregators.invariant import PUBLISHED
from ..core import Rule, Watch, bind
from ..errors import InputError
from ..watching import factions
from .attack_names import fitted, pace_of
from .inference import confident
from .own import Own, named_in
from .scenario import Attack, Defence, Task
from .tasks import base_name
from .training import csft, fl_wbc, flip, flip_compact, flood, lead_fl

__all__ = ["CLIENT_SIDE", "FRONTS", "SERVER_SIDE", "WATCHES", "defence_named", "ruled_by", "watched_by"]

#: The defences that change how honest clients train. Alone, with plain averaging.
CLIENT_SIDE: Mapping[str, Callable[..., Any]] = MappingProxyType(
    {"fl_wbc": fl_wbc, "flip": flip_compact, "flip_full": flip, "lead_fl": lead_fl}
)

#: The defences in which the server trains the model itself after each round. Alone, with plain averaging.
SERVER_SIDE: Mapping[str, Callable[..., Any]] = MappingProxyType({"csft": csft, "flood": flood})

#: The rules that work in front of another, any number of them before the rule in a defence's name.
FRONTS = tuple(name for name in aggregators.__all__ if getattr(aggregators, name).inner is not None)

#: The watches over the clients, the first part of a defence's name.
WATCHES: Mapping[str, Watch] = MappingProxyType({"factions": factions})


def defence_named(name: str, task: Task, attack: Attack, *, own: Own | None = None) -> Defence:
    """Return the rule of this name, which assumes as many attackers as there are on average.

    What stands before a + is a watch over the clients, how they or the server train, or a rule in front of
    what follows. All but how they train may be the user's `own`.

    >>> from holdfast.lab import attack_named, task_named
    >>> task = task_named("phishing")
    >>> print(defence_named("krum", task, attack_named("edge-case", task)).aggregate)
    krum(n_malicious=4)
    >>> defence_named("factions+median", task, attack_named("none", task)).watch.name
    'factions'
    >>> defence_named("nnm+krum", task, attack_named("edge-case", task)).aggregate
    nnm(n_malicious=4, rule=krum(n_malicious=4))
    """
    first, plus, rest = name.partition("+")
    if not plus:
        return _own_defence(name, task, attack, own) or _ruled(name.replace("-", "_"), task, attack, own)
    front = _front(first, own)
    trained = first.replace("-", "_")
    if front is None and trained not in {*CLIENT_SIDE, *SERVER_SIDE}:
        _watch(first, own)  # what stands before the rule is wrong first
    behind = defence_named(rest, task, attack, own=own)
    if front is not None:
        return _in_front(*front, behind, _expected(task, attack))
    if trained in CLIENT_SIDE:
        return _client_side(trained, task, behind)
    if trained in SERVER_SIDE:
        return _server_side(trained, task, behind)
    return watched_by(first, behind, own=own)


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
        owned = {} if own is None else own.rules
        fronts = [*(one for one, rule in owned.items() if is_in_front(rule.function, "rule")), *FRONTS]
        hint = nearest(name, [*known, *fronts])
        shown = listed_by("watches", len(WATCHES), own=own.where if own and own.watches else "")
        form = (
            ". A defence has at most one, before its rule: factions+invariant. Between them,"
            f" {', '.join(fronts)} may work in front of the rule: factions+nnm+invariant"
        )
        raise InputError(f"no watch {name!r}; {hint}{shown}{'' if hint else form}")
    named = plain if own is None or plain in WATCHES else own.full_name(plain)
    return named, known[plain]


def _front(name: str, own: Own | None) -> tuple[str, Rule] | None:
    """Return the rule of this name that works in front of another, without the module before it, if any."""
    if own is not None and (rule := own.rules.get(own.plain_name(name))) is not None:
        plain = own.plain_name(name)
        if is_in_front(rule.function, "rule"):
            _check_one_meaning(name, plain, own)
            return own.full_name(plain), rule
    ours = name.replace("-", "_")
    return (ours, getattr(aggregators, ours)) if ours in FRONTS else None


def _in_front(name: str, rule: Rule, behind: Defence, expected: Mapping[str, Any]) -> Defence:
    """Return the defence with a rule in front of its own."""
    if behind.watch is not None:
        watch, _, rest = behind.name.partition("+")
        raise InputError(f"a watch comes first in a defence's name: {watch}+{name}+{rest}")
    chosen = bind(rule, "rule", rule=behind.aggregate).filled(expected)
    return replace(behind, name=f"{name}+{behind.name}", aggregate=chosen)


def ruled_by(rule: Any, task: Task, attack: Attack, *, name: str | None = None) -> Defence:
    """Return a rule as a defence; what it needs to know of the attackers, and is not told, is filled in.

    >>> from holdfast import multi_krum
    >>> from holdfast.lab import TASKS
    >>> ruled_by(multi_krum, TASKS["digits"], Attack("some", 10)).aggregate
    multi_krum(n_malicious=4, n_selected=None, weighted=False)
    """
    bound = bind(rule, "rule").filled(_expected(task, attack))
    names, behind = [bound.name], bound.inner
    while behind is not None:
        names, behind = [*names, behind.name], behind.inner
    return Defence(name or "+".join(names), bound)


def _own_defence(name: str, task: Task, attack: Attack, own: Own | None) -> Defence | None:
    """Return the defence or rule of a user's own that has this name; None if there is none."""
    if own is None:
        return None
    plain = own.plain_name(name)
    rule, defence = own.rules.get(plain), named_in(own.defences, plain)
    if rule or defence:
        _check_one_meaning(name, plain, own)
    return ruled_by(rule, task, attack, name=own.full_name(plain)) if rule else defence


def _check_one_meaning(name: str, plain: str, own: Own) -> None:
    if plain == name and name in {*aggregators.__all__, *CLIENT_SIDE, *SERVER_SIDE}:
        raise InputError(
            f"{name!r} is in {own.where} and in holdfast: write {own.module}.{name}, or rename it there"
        )


def _expected(task: Task, attack: Attack) -> dict[str, int]:
    """Return what rules are told of the attackers: how many to expect in a round, and twice as many."""
    n_expected = whole_share(attack.n_malicious / task.n_clients, task.n_per_round)
    return {"n_malicious": n_expected, "threshold": 2 * n_expected}


def _ruled(name: str, task: Task, attack: Attack, own: Own | None) -> Defence:
    """Return a defence without a watch."""
    if name in CLIENT_SIDE:
        return replace(_client_side(name, task, Defence()), name=name)
    if name in SERVER_SIDE:
        return replace(_server_side(name, task, Defence()), name=name)
    if name in WATCHES:
        raise InputError(f"{name} is a watch, which needs a rule beside it: {name}+fedavg, for example")
    if name not in aggregators.__all__:
        owned = [] if own is None else [own.full_name(held) for held in (*own.rules, *own.defences)]
        ours = [*aggregators.__all__, *CLIENT_SIDE, *SERVER_SIDE]
        shown = listed_by("defences", len(ours), own=own.where if own and owned else "")
        raise InputError(f"no defence {name!r}; {nearest(name, [*owned, *ours])}{shown}")
    settings: dict[str, Any] = {**_expected(task, attack)}
    base = base_name(task.name)
    if name == "sign_sgd" and base == "phishing":
        settings["step"] = 0.01
    if name in ("invariant", "and_mask") and base in PUBLISHED:
        settings["tau"] = PUBLISHED[base]["tau"]
    return Defence(name, fitted(getattr(aggregators, name), "rule", settings))


def _client_side(name: str, task: Task, defence: Defence) -> Defence:
    """Return the defence with honest clients who train in a way of their own."""
    if defence.train is not None:
        raise InputError(f"honest clients train in one way; {name}+{defence.name} names two")
    train, named = CLIENT_SIDE[name], replace(defence, name=f"{name}+{defence.name}")
    if train not in (flip, flip_compact):
        return replace(named, train=fitted(train, "training", pace_of(task)))
    if task.model.needs("vectors"):
        raise InputError(f"{name} inverts triggers in numbers; {task.name} is text, for which there is none")
    pace = {} if train is flip else pace_of(task)  # flip trains by Adam, at a pace of its own
    return replace(named, train=fitted(train, "training", pace), predict=confident)  # which may decline


def _server_side(name: str, task: Task, defence: Defence) -> Defence:
    """Return the defence with a server that trains the model after each round."""
    if defence.after is not None:
        raise InputError(f"the server trains in one way; {name}+{defence.name} names two")
    after = fitted(SERVER_SIDE[name], "training", pace_of(task))
    if after.needs("span") and task.model.needs("vectors"):
        raise InputError(f"{name} draws inputs in numbers; {task.name} is text, for which there are none")
    return replace(defence, name=f"{name}+{defence.name}", after=after)
