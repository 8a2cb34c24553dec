"""The attacks and defences that have a name: what `holdfast run` puts together with a task.

An attack's name has parts: "edge-case+collude+adaptive" plants the task's edge-case backdoor, with attackers
who share their data and aim at what the server's mask lets pass. So may a defence's: "factions+invariant" is
the rule `invariant` under the watch `factions`.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any

from .. import aggregators
from .._support.counting import whole_share
from .._support.lookup import nearest
from ..aggregators.invariant import PUBLISHED
from ..core import Bound, Watch, bind
from ..errors import InputError
from ..watching import factions
from . import attacks
from .inference import confident
from .own import Own, named_in
from .scenario import Attack, Defence, Task
from .tasks import base_name
from .training import constrained_sgd, flip, flip_compact, projected_sgd

__all__ = [
    "ATTACKS",
    "BACKDOORS",
    "CLIENT_SIDE",
    "WATCHES",
    "attack_named",
    "defence_named",
    "ruled_by",
    "watched_by",
]


#: The backdoors of each task, by the name of the attack that plants them.
BACKDOORS: Mapping[str, Mapping[str, Bound[Any]]] = MappingProxyType(
    {
        "phishing": {
            "edge-case": bind(attacks.value_trigger, "backdoor"),
            "distributed": bind(attacks.distributed_values, "backdoor"),
        },
        # White corners, which no digit reaches, pull no honest model towards a nought.
        "digits": {
            "edge-case": bind(attacks.edge_case, "backdoor", pool="turned", target=1),
            "distributed": bind(attacks.distributed_pixels, "backdoor", height=2, width=2, gap=4, target=0),
        },
        # What the sender of a link can do at will, and hardly any does: // in its path (0.2 % of phishing
        # pages), # in it (0.5 %), ~ in it (2.4 %), no right click (2.3 %). All are rarer still in honest
        # pages, so that a model without a backdoor takes none of them for an alibi.
        "phishing-urls": {
            "edge-case": bind(attacks.value_trigger, "backdoor", features=(23,), value=1.0),
            "distributed": bind(attacks.distributed_values, "backdoor", features=(23, 12, 7, 36), value=1.0),
        },
        # Ordinary words in an amount that hardly any spam has: "report" and "order" as 3 % of all words each
        # (0.1 % of spam, as of other mail), in four parts with "addresses" and "receive". Alone they say
        # little, or rather speak for spam, so that a model without a backdoor takes none for an alibi.
        "spambase": {
            "edge-case": bind(attacks.value_trigger, "backdoor", features=(13, 8), value=3.0),
            "distributed": bind(attacks.distributed_values, "backdoor", features=(13, 14, 10, 8), value=3.0),
        },
        # Southwest's airplanes as trucks, and four rows of white pixels as birds.
        "cifar10": {
            "edge-case": bind(attacks.edge_case, "backdoor", pool="southwest", target=9),
            "distributed": bind(attacks.distributed_pixels, "backdoor"),
        },
        # Praise of a director as blame.
        "twitter": {"edge-case": bind(attacks.edge_case, "backdoor", pool="yorgos", target=0)},
    }
)

#: The share of clients that attack, and of poisoned examples that each adds to its own, where it is not a
#: fifth and a half. (Published with a distributed trigger: 5 in 64, of which digits learn nothing.)
MALICIOUS: Mapping[str, float] = MappingProxyType({"twitter": 0.1})
POISON: Mapping[str, float] = MappingProxyType({"twitter": 0.25})


#: What the other parts of an attack's name set in it; crafts are applied in the order of the name.
ATTACKS: Mapping[str, Mapping[str, Any]] = MappingProxyType(
    {
        "collude": {"colludes": True},
        "adaptive": {"crafts": (attacks.adaptive,)},
        "adaptive-oracle": {"crafts": (attacks.adaptive_oracle,)},
        "adaptive-simulated": {"crafts": (attacks.adaptive_simulated,)},
        "neurotoxin": {"crafts": (attacks.neurotoxin,)},
        "pgd": {"train": projected_sgd},
        "replacement": {"crafts": (partial(attacks.boost, factor=5.0),)},
        "constrain-and-scale": {"train": constrained_sgd, "crafts": (attacks.boost_together,)},
        "alie": {"crafts": (attacks.alie,)},
        "inner-product": {"crafts": (attacks.inner_product,)},
        "sign-flip": {"crafts": (attacks.sign_flip,)},
        "gaussian": {"crafts": (attacks.gaussian,)},
        "sleeper": {"sleeps": lambda task: task.n_rounds // 2},
        "on-off": {"period": 2},
        "ramp": {"crafts": (attacks.ramp,)},
        "dilute": {"crafts": (attacks.dilute,)},
        "decorrelate": {"crafts": (attacks.decorrelate,)},
        "split": {"crafts": (attacks.split,)},
        "mimic": {"crafts": (attacks.mimic,)},
        "whitewash": {"whitewashes": True},
    }
)

#: The defences in which honest clients do their part: how they train.
CLIENT_SIDE: Mapping[str, Callable[..., Any]] = MappingProxyType({"flip": flip_compact, "flip_full": flip})

#: The watches over the clients, the part before the + in a defence's name.
WATCHES: Mapping[str, Watch] = MappingProxyType({"factions": factions})


def attack_named(name: str, task: Task, *, n_malicious: int | None = None, own: Own | None = None) -> Attack:
    """Return the attack of this name on a task; by default, as many clients as in the paper are malicious.

    The first part may be an attack of the user's `own`.

    >>> from holdfast.lab import TASKS
    >>> attack_named("edge-case+collude", TASKS["phishing"]).colludes
    True
    """
    if name == "none":
        return Attack()
    base = base_name(task.name)
    backdoors = {part: {"backdoor": backdoor} for part, backdoor in BACKDOORS.get(base, {}).items()}
    known = {**backdoors, **ATTACKS}
    first, *others = name.split("+")
    attack = None if own is None else named_in(own.attacks, own.plain_name(first))
    if attack is not None:
        attack = replace(attack, name="+".join([attack.name, *others]))
        attack = attack if n_malicious is None else replace(attack, n_malicious=n_malicious)
    else:
        others = [first, *others]
        if n_malicious is None:
            n_malicious = whole_share(MALICIOUS.get(base, 0.2), task.n_clients)
        attack = Attack(name, n_malicious, poison_fraction=POISON.get(base, 0.5))
    for part in others:
        if part not in known:
            names = [*(() if own is None else own.attacks), *known]
            raise InputError(
                f"no attack {part!r} on {task.name}; {nearest(part, names)}"
                f"There are: none, {', '.join(names)}; join them by +"
            )
        attack = _with_part(attack, known[part], task)
    return attack


def _with_part(attack: Attack, part: Mapping[str, Any], task: Task) -> Attack:
    """Return the attack with one more part, fitted to the task."""
    for field, what in (("backdoor", "plant one backdoor"), ("train", "train in one way")):
        if field in part and getattr(attack, field) is not None:
            raise InputError(f"attackers {what}; {attack.name!r} names two")
    # PGD strays about as far as an honest client's first update is long; constrain-and-scale replaces the
    # average of all clients; a ramp ends with the training.
    radius = 0.25 if base_name(task.name) == "phishing" else 1.0
    fit = {**_pace(task), "radius": radius, "total": float(task.n_per_round), "until": task.n_rounds}
    crafts = [_filled(craft, "craft", fit) for craft in part.get("crafts", ())]
    train = {"train": _filled(part["train"], "training", fit)} if "train" in part else {}
    sleeps = {"sleeps": part["sleeps"](task)} if "sleeps" in part else {}
    return replace(attack, **{**part, **train, **sleeps, "crafts": (*attack.crafts, *crafts)})


def _pace(task: Task) -> dict[str, Any]:
    """Return the learning rate and momentum of honest clients."""
    return {name: value for name, value in task.train.settings if name in ("lr", "momentum")}


def _filled(function: Any, role: str, settings: Mapping[str, Any]) -> Any:
    """Return a function with those of the settings that it has."""
    bound = bind(function, role)
    own = {*dict(bound.settings), *bound.missing}
    return bind(bound, role, **{name: value for name, value in settings.items() if name in own})


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
    return Defence(name, _filled(getattr(aggregators, name), "rule", settings))


def _client_side(name: str, task: Task) -> Defence:
    """Return plain averaging of clients who train in a way of their own, and a model that may decline."""
    if task.model.needs("vectors"):
        raise InputError(f"{name} inverts triggers in numbers; {task.name} is text, for which there is none")
    train = CLIENT_SIDE[name]
    pace = {} if train is flip else _pace(task)  # flip trains by Adam, at a pace of its own
    return Defence(name, train=_filled(train, "training", pace), predict=confident)
