"""The tasks, attacks and defences that have a name: what `holdfast run` puts together.

An attack's name is made of parts: "edge-case+collude+adaptive" plants the task's edge-case backdoor, with
attackers who share their data and aim at what the server's mask lets pass.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from . import aggregators, attacks
from .core import Bound, bind, nearest
from .counting import whole_share
from .data import digits, phishing
from .errors import InputError
from .models import mlp, small_cnn
from .scenario import Attack, Defence, Task
from .training import batched_sgd

__all__ = ["ATTACKS", "BACKDOORS", "TASKS", "attack_named", "defence_named", "task_named"]

TASKS: Mapping[str, Task] = MappingProxyType(
    {
        "phishing": Task("phishing", bind(phishing), bind(mlp), bind(batched_sgd, lr=0.1)),
        "digits": Task(
            "digits",
            bind(digits),
            bind(small_cnn),
            bind(batched_sgd, lr=0.1),
            epochs=5,
            batch_size=16,
            n_clients=50,
            n_per_round=20,
            n_rounds=30,
        ),
    }
)

#: The backdoors of each task, by the name of the attack that plants them.
BACKDOORS: Mapping[str, Mapping[str, Bound[Any]]] = MappingProxyType(
    {
        "phishing": {
            "edge-case": bind(attacks.value_trigger),
            "distributed": bind(attacks.distributed_values),
        },
        "digits": {
            "edge-case": bind(attacks.edge_case, pool="turned", target=1),
            "distributed": bind(attacks.distributed_pixels, width=2, gap=1),
        },
    }
)


def _crafted(craft: Bound[Any]) -> Callable[[Attack], Attack]:
    return lambda attack: replace(attack, crafts=(*attack.crafts, craft))


#: What the other parts of an attack's name do to it, in the order of the name.
ATTACKS: Mapping[str, Callable[[Attack], Attack]] = MappingProxyType(
    {
        "collude": lambda attack: replace(attack, colludes=True),
        "adaptive": _crafted(bind(attacks.adaptive)),
        "adaptive-oracle": _crafted(bind(attacks.adaptive_oracle)),
        "adaptive-simulated": _crafted(bind(attacks.adaptive_simulated)),
        "neurotoxin": _crafted(bind(attacks.neurotoxin)),
        "replacement": _crafted(bind(attacks.boost, factor=5.0)),
        "projected": _crafted(bind(attacks.project, radius=1.0)),
        "alie": _crafted(bind(attacks.alie)),
        "inner-product": _crafted(bind(attacks.inner_product)),
        "sign-flip": _crafted(bind(attacks.sign_flip)),
        "gaussian": _crafted(bind(attacks.gaussian)),
    }
)


def task_named(name: str) -> Task:
    """Return the task of this name.

    >>> task_named("phishing").n_per_round
    20
    """
    if name not in TASKS:
        raise InputError(f"no task {name!r}; {nearest(name, TASKS)}There are: {', '.join(TASKS)}")
    return TASKS[name]


def attack_named(name: str, task: Task, *, n_malicious: int | None = None) -> Attack:
    """Return the attack of this name on a task; a fifth of the clients is malicious unless told otherwise.

    >>> attack_named("edge-case+collude", TASKS["phishing"]).colludes
    True
    """
    if name == "none":
        return Attack()
    known = {**BACKDOORS[task.name], **ATTACKS}
    attack = Attack(name, task.n_clients // 5 if n_malicious is None else n_malicious)
    for part in name.split("+"):
        if part not in known:
            raise InputError(
                f"no attack {part!r} on {task.name}; {nearest(part, known)}There are: none, {', '.join(known)};"
                " join them by +"
            )
        if part in BACKDOORS[task.name]:
            attack = replace(attack, backdoor=BACKDOORS[task.name][part])
        else:
            attack = ATTACKS[part](attack)
    return attack


def defence_named(name: str, task: Task, attack: Attack, **settings: Any) -> Defence:
    """Return the rule of this name; what it assumes of attackers is, unless set, what is true on average.

    >>> print(defence_named("krum", TASKS["phishing"], attack_named("edge-case", TASKS["phishing"])).aggregate)
    krum(n_malicious=4)
    """
    if name not in aggregators.__all__:
        rules = dict.fromkeys(aggregators.__all__)
        raise InputError(f"no defence {name!r}; {nearest(name, rules)}There are: {', '.join(rules)}")
    rule = getattr(aggregators, name)
    n_expected = whole_share(attack.n_malicious / task.n_clients, task.n_per_round)
    guesses = {"n_malicious": n_expected, "threshold": 2 * n_expected}
    if name == "sign_sgd" and task.name == "phishing":
        guesses["step"] = 0.01  # type: ignore[assignment]
    known = rule.__kwdefaults__ or {}
    wanted = {key: value for key, value in guesses.items() if key in rule.__annotations__ or key in known}
    return Defence(name, bind(rule, **{**wanted, **settings}))
