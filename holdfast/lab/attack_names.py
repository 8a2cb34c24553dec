"""The attacks that have a name, which has parts.

"edge-case+collude+adaptive" plants the task's edge-case backdoor, with attackers who share their data and aim
at what the server's mask lets pass.
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any

from .._support.counting import whole_share
from .._support.lookup import listed_by, nearest
from ..core import bind
from ..errors import InputError
from .attack_parts import ATTACKS, BACKDOORS, MALICIOUS, PER_BATCH, POISON
from .own import Own, named_in
from .scenario import Attack, Task
from .tasks import base_name

__all__ = ["attack_named", "fitted", "pace_of"]


def attack_named(name: str, task: Task, *, n_malicious: int | None = None, own: Own | None = None) -> Attack:
    """Return the attack of this name on a task; by default, as many clients as in the paper are malicious.

    The first part may be an attack of the user's `own`.

    >>> from holdfast.lab import TASKS
    >>> attack_named("edge-case+collude", TASKS["phishing"]).colludes
    True
    """
    if name == "none":
        if n_malicious:
            raise InputError(
                f"{n_malicious} malicious clients, and no attack: name what they do, as in --attack edge-case"
            )
        return Attack()
    base = base_name(task.name)
    backdoors = {part: {"backdoor": backdoor} for part, backdoor in BACKDOORS.get(base, {}).items()}
    known = {**backdoors, **ATTACKS}
    first, *others = name.split("+")
    if own is not None and (held := named_in(own.attacks, own.plain_name(first))) is not None:
        attack = replace(held, name="+".join([own.full_name(held.name), *others]))
        attack = attack if n_malicious is None else replace(attack, n_malicious=n_malicious)
    else:
        others = [first, *others]
        if n_malicious is None:
            n_malicious = whole_share(MALICIOUS.get(base, 0.2), task.n_clients)
        attack = Attack(
            name,
            n_malicious,
            poison_fraction=POISON.get(base, 0.5),
            poison_per_batch=PER_BATCH.get(task.name, 0),
        )
    for part in others:
        if part not in known:
            raise InputError(f"no attack {part!r} on {task.name}{_offered(part, known, own)}")
        attack = _with_part(attack, known[part], task)
    return attack


def _offered(part: str, known: Iterable[str], own: Own | None) -> str:
    """Return the end of the message that there is no attack, or part of one, of this name on a task."""
    if part == "none":
        return ": it stands alone, and others join with +"
    owned = [] if own is None else [own.full_name(held) for held in own.attacks]
    backdoors = {name for held in BACKDOORS.values() for name in held}
    shown = listed_by("attacks", len({"none", *ATTACKS, *backdoors}), own=own.where if own and owned else "")
    if part in backdoors:
        return f", only on {', '.join(base for base, held in BACKDOORS.items() if part in held)}; {shown}"
    hint = nearest(part, [*owned, "none", *known])
    return f"; {hint}{shown}" + ("" if hint else ". Join several with +")


def _with_part(attack: Attack, part: Mapping[str, Any], task: Task) -> Attack:
    """Return the attack with one more part, fitted to the task."""
    for field, what in (("backdoor", "plant one backdoor"), ("train", "train in one way")):
        if field in part and getattr(attack, field) is not None:
            raise InputError(f"attackers {what}; {attack.name!r} names two")
    # PGD strays about as far as an honest client's first update is long; constrain-and-scale replaces the
    # average of all clients; a ramp ends with the training; who anticipates a round is one of as many clients
    # as there are per attacker.
    fit = {
        **pace_of(task),
        "radius": 0.25 if base_name(task.name) == "phishing" else 1.0,
        "total": float(task.n_per_round),
        "until": task.n_rounds,
        "n_clients": min(task.n_per_round, max(1, task.n_clients // max(1, attack.n_malicious))),
    }
    crafts = [fitted(craft, "craft", fit) for craft in part.get("crafts", ())]
    train = {"train": fitted(part["train"], "training", fit)} if "train" in part else {}
    sleeps = {"sleeps": part["sleeps"](task)} if "sleeps" in part else {}
    return replace(attack, **{**part, **train, **sleeps, "crafts": (*attack.crafts, *crafts)})


def pace_of(task: Task) -> dict[str, Any]:
    """Return the optimiser of honest clients, its learning rate and momentum."""
    pace = {name: value for name, value in task.train.settings if name in ("lr", "momentum")}
    return {**pace, "optimiser": "adam" if task.train.name == "adam" else "sgd"}


def fitted(function: Any, role: str, settings: Mapping[str, Any]) -> Any:
    """Return a function with those of the settings that it has."""
    bound = bind(function, role)
    own = {*dict(bound.settings), *bound.missing}
    return bind(bound, role, **{name: value for name, value in settings.items() if name in own})
