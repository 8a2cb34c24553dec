"""Red-team drills: a client mod that makes chosen nodes of a Flower app malicious, for a rehearsal.

`ClientApp(mods=[Drill(attacks)])` changes nothing until a node is given a part: by its own configuration,
`--node-config 'drill="nan"'`, or by partition in the run's, `drill-parts = "3:nan 4:crash"`, which is the way
on the simulation engine. A node with a part refuses to work unless the run's configuration also says
`drill = true`: no run turns malicious by what was left behind on a node.
"""

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from flwr.app import Array as FlowerArray
from flwr.app import ArrayRecord, Context, Message
from numpy.typing import NDArray

from .._support.lookup import nearest
from ..errors import InputError
from ..lab.data import Dataset
from ..lab.scenario import Attack

__all__ = ["Drill", "crash", "fail", "nan"]

Array = NDArray[Any]

LOG = logging.getLogger("flwr")
MEMORY = "holdfast.drill"  # where a node keeps the last global model, for attacks that ask for `previous`


@dataclass(frozen=True)
class Drill:
    """The attacks of a drill by name, as a mod for ClientApp(mods=[...]) and as a poisoner of examples.

    Of an Attack it plays the backdoor with its poison_fraction, the crafts, and the rounds.

    >>> from functools import partial
    >>> from holdfast.lab.attacks import sign_flip
    >>> red_team = Drill({"flip": Attack("flip", crafts=(partial(sign_flip, factor=3.0),))})
    >>> sorted(red_team.attacks)
    ['flip']
    """

    attacks: Mapping[str, Attack]

    def __post_init__(self) -> None:
        """Refuse attacks that a single client cannot make."""
        for name, attack in self.attacks.items():
            unseen = [
                f"{craft} ({need})"
                for craft in attack.crafts
                for need in ("benign", "rehearsal")
                if craft.needs(need)
            ]
            beyond = [
                field
                for field in ("train", "colludes", "exposure", "whitewashes", "masks")
                if getattr(attack, field)
            ]
            if unseen or beyond:
                raise InputError(
                    f"attack {name!r} needs what one client has not: {', '.join(unseen + beyond)}."
                    " A drill plays a backdoor, crafts of the node's own update, and rounds"
                )

    def __call__(
        self, message: Message, context: Context, call_next: Callable[[Message, Context], Message]
    ) -> Message:
        """Return the app's reply, crafted if this node attacks in this round."""
        attack = self._playing(message, context)
        if attack is None or not attack.crafts:
            return call_next(message, context)
        _, base = _only_arrays(message)
        previous = _last_step(context, base) if any(c.needs("previous") for c in attack.crafts) else None
        reply = call_next(message, context)
        if reply.has_error():
            return reply
        LOG.warning("DRILL: %s sends what %r makes of its update", _named(message, context), attack.name)
        key, sent = _only_arrays(reply)
        known = {
            "previous": previous,
            "attackers": np.array([context.node_id]),
            "round": _round(message),
            "rng": _stream(message, context),
        }
        reply.content[key] = _crafted(attack, base, sent, known)
        return reply

    def poisoned(
        self, x: Array, y: Array, message: Message, context: Context, *, data: Dataset
    ) -> tuple[Array, Array]:
        """Return the examples to train on: the node's own, and poisoned ones if it attacks in this round.

        `data` is what the backdoor is made for: it leads from the examples back to raw values, and holds
        the pools of edge cases.
        """
        attack = self._playing(message, context)
        if attack is None or attack.backdoor is None:
            return x, y
        backdoor = attack.backdoor(data)
        count = round(attack.poison_fraction * len(y))
        number = int(context.node_config.get("partition-id", 0))
        bad = backdoor.poison(x, y, count, number, _stream(message, context))
        LOG.warning(
            "DRILL: %s trains on %d poisoned examples, labelled %d, beside %d of its own",
            _named(message, context),
            len(bad),
            backdoor.target,
            len(y),
        )
        return np.concatenate([x, bad]), np.concatenate([y, np.full(len(bad), backdoor.target, y.dtype)])

    def part(self, context: Context) -> str | None:
        """Return the name of the attack that this node plays, None if it is honest; raise if it must not."""
        name = context.node_config.get("drill") or _by_partition(context)
        if not name:
            return None
        if context.run_config.get("drill") is not True:
            problem = (
                f"node {context.node_id} has the part {name!r} of a drill, but this run is none: its"
                f" configuration says drill={context.run_config.get('drill')!r}. Start the run with"
                " --run-config 'drill=true', or the node without a part"
            )
            LOG.error("DRILL REFUSED: %s", problem)
            raise InputError(problem)
        if name not in self.attacks:
            raise InputError(
                f"no attack {name!r} in this drill; {nearest(str(name), self.attacks)}"
                f"There are: {', '.join(self.attacks)}"
            )
        return str(name)

    def _playing(self, message: Message, context: Context) -> Attack | None:
        """Return the attack of this node in this round of training."""
        name = self.part(context)
        if name is None or not message.metadata.message_type.startswith("train"):
            return None
        return self.attacks[name] if self.attacks[name].is_on(_round(message)) else None


def nan(updates: Array) -> Array:
    """Return NaN in place of the updates."""
    return np.full_like(updates, np.nan)


def fail(updates: Array) -> Array:
    """Raise instead of sending: the server gets an error reply."""
    raise RuntimeError("this node fails, as the drill asks")


def crash(updates: Array) -> Array:
    """End the process at once, after training: the server gets no reply from the app, not even an error.

    For the deployment engine. On the simulation engine it takes a worker of all nodes down: use `fail`.
    """
    LOG.warning("DRILL: this process ends here")
    logging.shutdown()
    os._exit(1)


def _by_partition(context: Context) -> str | None:
    """Return the part that the run gives to this node's partition."""
    pairs = [pair.partition(":") for pair in str(context.run_config.get("drill-parts", "")).split()]
    for partition, _, name in pairs:
        if not partition.isdecimal() or not name:
            raise InputError(
                "drill-parts must be pairs of a partition and an attack, such as '3:nan 4:crash';"
                f" got {context.run_config['drill-parts']!r}"
            )
    parts = {int(number): name for number, _, name in pairs}
    own = context.node_config.get("partition-id")
    return parts.get(own) if isinstance(own, int) else None


def _only_arrays(message: Message) -> tuple[str, ArrayRecord]:
    records = list(message.content.array_records.items())
    if len(records) != 1:
        raise InputError(f"a drill needs messages with one ArrayRecord, the model; got {len(records)}")
    return records[0]


def _crafted(attack: Attack, base: ArrayRecord, sent: ArrayRecord, known: Mapping[str, Any]) -> ArrayRecord:
    """Return the model to send: the base and what the crafts make of the node's own step from it."""
    model = {name: array.numpy() for name, array in sent.items()}
    names = [name for name, array in model.items() if np.issubdtype(array.dtype, np.floating)]
    if not names or any(name not in base for name in names):
        raise InputError(
            f"a drill crafts replies that hold floats under the server's names, {', '.join(base)};"
            f" this one holds {', '.join(names) or 'none'}"
        )
    start = _flat(base, names)
    updates = (_flat(sent, names) - start)[None]
    for craft in attack.crafts:
        updates = craft(updates, **known)
    end = start + updates[0]
    for name in names:
        part, end = end[: model[name].size], end[model[name].size :]
        model[name] = part.reshape(model[name].shape).astype(model[name].dtype)
    return ArrayRecord({name: FlowerArray(array) for name, array in model.items()})


def _last_step(context: Context, base: ArrayRecord) -> Array | None:
    """Return what the server added to the model since this node last saw it, and remember the model."""
    names = [name for name, array in base.items() if np.issubdtype(array.numpy().dtype, np.floating)]
    before = context.state.array_records.get(MEMORY)
    context.state[MEMORY] = base
    return None if before is None else _flat(base, names) - _flat(before, names)


def _flat(arrays: ArrayRecord, names: list[str]) -> Array:
    return np.concatenate([arrays[name].numpy().ravel() for name in names])


def _round(message: Message) -> int:
    """Return the number of the round, which Flower's strategies put into the configuration they send."""
    sent = [config.get("server-round") for config in message.content.config_records.values()]
    return next((number for number in sent if isinstance(number, int)), 1)


def _stream(message: Message, context: Context) -> np.random.Generator:
    return np.random.default_rng([context.node_id, _round(message)])


def _named(message: Message, context: Context) -> str:
    return f"node {context.node_id} in round {_round(message)}"
