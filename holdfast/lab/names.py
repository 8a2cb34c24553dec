"""The tasks, attacks and defences that have a name: what `holdfast run` puts together.

An attack's name is made of parts: "edge-case+collude+adaptive" plants the task's edge-case backdoor, with
attackers who share their data and aim at what the server's mask lets pass.
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
from ..core import Bound, bind
from ..errors import InputError
from . import attacks
from .data import cifar10, digits, phishing, phishing_urls, spambase, twitter
from .data.split import dirichlet
from .inference import confident
from .models import cifar_cnn, lstm, mlp, resnet18, small_cnn
from .scenario import Attack, Defence, Task
from .training import (
    adam,
    batched_sgd,
    constrained_sgd,
    crop_and_flip,
    flip,
    flip_compact,
    projected_sgd,
    sgd,
)

__all__ = [
    "ATTACKS",
    "BACKDOORS",
    "CLIENT_SIDE",
    "SCALES",
    "TASKS",
    "attack_named",
    "defence_named",
    "task_named",
]


def _table(name: str, data: Callable[..., Any], n_features: int) -> Task:
    """Return the task of a real table: too small for 100 clients, and for one pass over a shard a round."""
    model = partial(mlp, sizes=(n_features, 128, 256, 2))
    train = partial(batched_sgd, lr=0.1)
    return Task(name, data, model, train, epochs=5, batch_size=32, n_clients=50, n_together=10)


TASKS: Mapping[str, Task] = MappingProxyType(
    {
        "phishing": Task("phishing", phishing, mlp, partial(batched_sgd, lr=0.1), n_together=10),
        "digits": Task(
            "digits",
            digits,
            small_cnn,
            partial(batched_sgd, lr=0.1, momentum=0.9),
            epochs=5,
            batch_size=16,
            n_clients=50,
            n_rounds=30,
            n_together=10,
        ),
        "phishing-urls": _table("phishing-urls", phishing_urls, 48),
        "spambase": _table("spambase", spambase, 57),
        # A small network, and rates at which it learns in 60 rounds, chosen on plain averaging alone, under
        # attack and not. With a fifth of the images it takes several passes a round, and clients drift apart.
        "cifar10": Task(
            "cifar10",
            partial(cifar10, n_test=2_000),
            partial(cifar_cnn, widths=(16, 32, 64)),
            partial(sgd, lr=0.1, momentum=0.5),
            partial(dirichlet, alpha=0.5),
            batch_size=32,
            n_rounds=60,
        ),
        # "0.1 local epoch" of 500 tweets is one step of Adam, in which every weight moves by the learning
        # rate: a model that is shaken more than it learns. Four steps at a larger rate learn in 30 rounds.
        "twitter": Task(
            "twitter",
            partial(twitter, n_test=2_000),
            partial(lstm, hidden=100),
            partial(adam, lr=2e-3),
            epochs=0.5,
            n_per_round=15,
            n_rounds=30,
        ),
    }
)

#: How large a run is: to see that it works, to be measured on a processor, as in the paper.
SCALES = ("smoke", "cpu", "paper")

#: What a task becomes at another scale than cpu, the one it is written down at.
SCALED: Mapping[tuple[str, str], Mapping[str, Any]] = MappingProxyType(
    {
        ("phishing", "smoke"): {"data": partial(phishing, n_train=2000, n_test=400)},
        ("cifar10", "smoke"): {
            "data": partial(cifar10, n_train=1_000, n_test=200),
            "model": partial(cifar_cnn, widths=(4, 8, 8)),
        },
        ("cifar10", "paper"): {
            "data": cifar10,
            "model": resnet18,
            "train": partial(sgd, lr=0.01),
            "epochs": 1.0,
            "batch_size": 64,
            "n_rounds": 300,
            "augment": crop_and_flip,
        },
        ("twitter", "smoke"): {
            "data": partial(twitter, n_train=1_000, n_test=200),
            "model": partial(lstm, hidden=8),
        },
        ("twitter", "paper"): {
            "data": twitter,
            "model": lstm,
            "train": partial(adam, lr=1e-4),
            "epochs": 0.1,
            "n_rounds": 300,
        },
    }
)

#: What every task becomes to see that it works.
SMOKE: Mapping[str, Any] = MappingProxyType({"n_rounds": 2, "n_clients": 20, "n_per_round": 10, "n_root": 50})

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


#: The share of clients that attack, and of poisoned examples that each adds to its own, where the paper has
#: others than a fifth and a half.
MALICIOUS: Mapping[str, float] = MappingProxyType({"twitter": 0.1})
POISON: Mapping[str, float] = MappingProxyType({"twitter": 0.25})


def _crafted(craft: Callable[..., Any]) -> Callable[[Attack, Task], Attack]:
    return lambda attack, _: replace(attack, crafts=(*attack.crafts, craft))


def _trained(function: Callable[..., Any], **settings: Any) -> Callable[[Attack, Task], Attack]:
    """Return the change to a way of training, at the learning rate and momentum of honest clients."""

    def change(attack: Attack, task: Task) -> Attack:
        if attack.train is not None:
            raise InputError(f"attackers train in one way; {attack.name!r} names two")
        shared = {name: value for name, value in task.train.settings if name in ("lr", "momentum")}
        return replace(attack, train=partial(function, **shared, **settings))

    return change


def _constrained_and_scaled(attack: Attack, task: Task) -> Attack:
    """Return constrain-and-scale: together, a round's attackers replace the average of all."""
    scaled = _crafted(partial(attacks.boost_together, total=float(task.n_per_round)))
    return scaled(_trained(constrained_sgd)(attack, task), task)


#: How far PGD's attackers stray: about as long as an honest client's first update is.
RADII: Mapping[str, float] = MappingProxyType({"phishing": 0.25, "digits": 1.0})

#: What the other parts of an attack's name do to it, in the order of the name.
ATTACKS: Mapping[str, Callable[[Attack, Task], Attack]] = MappingProxyType(
    {
        "collude": lambda attack, _: replace(attack, colludes=True),
        "adaptive": _crafted(attacks.adaptive),
        "adaptive-oracle": _crafted(attacks.adaptive_oracle),
        "adaptive-simulated": _crafted(attacks.adaptive_simulated),
        "neurotoxin": _crafted(attacks.neurotoxin),
        "pgd": lambda attack, task: _trained(projected_sgd, radius=RADII.get(task.name, 1.0))(attack, task),
        "replacement": _crafted(partial(attacks.boost, factor=5.0)),
        "constrain-and-scale": _constrained_and_scaled,
        "alie": _crafted(attacks.alie),
        "inner-product": _crafted(attacks.inner_product),
        "sign-flip": _crafted(attacks.sign_flip),
        "gaussian": _crafted(attacks.gaussian),
    }
)


#: The defences of which clients do their part: how honest ones train.
CLIENT_SIDE: Mapping[str, Callable[..., Any]] = MappingProxyType({"flip": flip_compact, "flip_full": flip})


def task_named(name: str, *, scale: str = "cpu") -> Task:
    """Return the task of this name.

    >>> task_named("phishing").n_rounds, task_named("phishing", scale="smoke").n_rounds
    (20, 2)
    """
    if name not in TASKS:
        raise InputError(f"no task {name!r}; {nearest(name, TASKS)}There are: {', '.join(TASKS)}")
    if scale not in SCALES:
        raise InputError(f"scale must be one of {', '.join(SCALES)}; got {scale!r}")
    changes = {**(SMOKE if scale == "smoke" else {}), **SCALED.get((name, scale), {})}
    return replace(TASKS[name], **changes)


def attack_named(name: str, task: Task, *, n_malicious: int | None = None) -> Attack:
    """Return the attack of this name on a task; as many clients as in the paper are malicious unless told.

    >>> attack_named("edge-case+collude", TASKS["phishing"]).colludes
    True
    """
    if name == "none":
        return Attack()
    backdoors = BACKDOORS.get(task.name, {})
    known = {**backdoors, **ATTACKS}
    if n_malicious is None:
        n_malicious = whole_share(MALICIOUS.get(task.name, 0.2), task.n_clients)
    attack = Attack(name, n_malicious, poison_fraction=POISON.get(task.name, 0.5))
    for part in name.split("+"):
        if part not in known:
            raise InputError(
                f"no attack {part!r} on {task.name}; {nearest(part, known)}"
                f"There are: none, {', '.join(known)}; join them by +"
            )
        if part not in backdoors:
            attack = ATTACKS[part](attack, task)
        elif attack.backdoor is not None:
            raise InputError(f"attackers plant one backdoor; {name!r} names two")
        else:
            attack = replace(attack, backdoor=backdoors[part])
    return attack


def defence_named(name: str, task: Task, attack: Attack, **settings: Any) -> Defence:
    """Return the rule of this name; what it assumes of attackers is, unless set, what is true on average.

    >>> task = task_named("phishing")
    >>> print(defence_named("krum", task, attack_named("edge-case", task)).aggregate)
    krum(n_malicious=4)
    """
    if name in CLIENT_SIDE:
        return _client_side(name, task, settings)
    if name not in aggregators.__all__:
        rules = dict.fromkeys([*aggregators.__all__, *CLIENT_SIDE])
        raise InputError(f"no defence {name!r}; {nearest(name, rules)}There are: {', '.join(rules)}")
    rule = getattr(aggregators, name)
    n_expected = whole_share(attack.n_malicious / task.n_clients, task.n_per_round)
    guesses = {"n_malicious": n_expected, "threshold": 2 * n_expected}
    if name == "sign_sgd" and task.name == "phishing":
        guesses["step"] = 0.01  # type: ignore[assignment]
    if name in ("invariant", "and_mask") and task.name in PUBLISHED:
        guesses["tau"] = PUBLISHED[task.name]["tau"]  # type: ignore[assignment]
    known = [*dict(rule.settings), *rule.missing]
    wanted = {key: value for key, value in guesses.items() if key in known}
    return Defence(name, rule(**{**wanted, **settings}))


def _client_side(name: str, task: Task, settings: Mapping[str, Any]) -> Defence:
    """Return plain averaging of clients who train in a way of their own, and a model that may decline."""
    if task.model.needs("vectors"):
        raise InputError(f"{name} inverts triggers in numbers; {task.name} is text, for which there is none")
    train, answer = CLIENT_SIDE[name], {key: value for key, value in settings.items() if key == "threshold"}
    shared = {key: value for key, value in task.train.settings if key in ("lr", "momentum")}
    own = {key: value for key, value in settings.items() if key not in answer}
    if train is flip:  # hardens by Adam, at a pace of its own
        shared = {}
    return Defence(name, train=partial(train, **{**shared, **own}), predict=partial(confident, **answer))
