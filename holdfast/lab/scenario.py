"""What is run: Task, Attack, Defence, Run. Frozen values of Bounds and numbers; declares, never runs."""

import hashlib
from dataclasses import dataclass, fields, is_dataclass, replace
from typing import Any, Literal

from .._support.counting import check_whole
from ..aggregators import fedavg
from ..core import Aggregate, Bound, bind
from ..errors import InputError
from .data.split import iid
from .inference import most_likely

__all__ = ["Attack", "Defence", "Run", "Task"]

IID, FEDAVG, MOST_LIKELY = bind(iid), bind(fedavg), bind(most_likely)


@dataclass(frozen=True)
class Task:
    """What honest clients do: their data, how it is dealt, the network and the local training.

    `train` takes (model, params, shards) and returns one update a shard. `n_together` clients at most are
    handed to it at once: a number of the run, so that its bits never hang on the machine.
    """

    name: str
    data: Bound[Any]
    model: Bound[Any]
    train: Bound[Any]
    split: Bound[Any] = IID
    epochs: float = 1.0
    batch_size: int = 64
    n_clients: int = 100
    n_per_round: int = 20
    n_rounds: int = 20
    n_root: int = 100  # examples the server holds itself, for rules that ask for a reference
    n_together: int = 1  # clients that train as one computation, at most
    augment: Bound[Any] | None = None  # what a client does to its examples before it trains, anew each round
    warm_epochs: float = 0.0  # how long the server trains on its own examples before the first round

    def __post_init__(self) -> None:
        """Refuse numbers that make no round."""
        for name in ("batch_size", "n_clients", "n_rounds", "n_root", "n_together"):
            check_whole(name, getattr(self, name), at_least=1)
        check_whole("n_per_round", self.n_per_round, at_least=1, at_most=self.n_clients)
        if not 0 <= self.warm_epochs < float("inf"):
            raise InputError(f"warm_epochs must be a finite number from 0 on; got {self.warm_epochs!r}")


@dataclass(frozen=True)
class Attack:
    """What malicious clients do: the backdoor they learn, and what they make of their updates.

    The default is nobody.
    """

    name: str = "none"
    n_malicious: int = 0
    backdoor: Bound[Any] | None = None
    train: Bound[Any] | None = None  # how attackers train, if not like everybody
    crafts: tuple[Bound[Any], ...] = ()  # applied one after the other to the attackers' updates
    colludes: bool = False  # the first attacker of a round trains on the examples of all, who send its update
    poison_fraction: float = 0.5  # poisoned examples added to a shard, as a share of the clean ones
    exposure: float = 0.0  # share of an edge-case pool that honest clients hold, rightly labelled
    rounds: range = range(1, 1_000_000)

    def __post_init__(self) -> None:
        """Refuse shares that are none."""
        check_whole("n_malicious", self.n_malicious, at_least=0)
        if not self.poison_fraction >= 0 or not 0 <= self.exposure <= 1:
            raise InputError(
                "poison_fraction must be at least 0 and exposure in [0, 1];"
                f" got {self.poison_fraction} and {self.exposure}"
            )


@dataclass(frozen=True)
class Defence:
    """What the server does with the updates, and where it asks for more: how honest clients train, and how
    the model answers.
    """

    name: str = "fedavg"
    aggregate: Bound[Aggregate] = FEDAVG
    train: Bound[Any] | None = None
    predict: Bound[Any] = MOST_LIKELY


@dataclass(frozen=True)
class Run:
    """A task under an attack with a defence, and a seed: all that determines a result, and nothing else.

    `sampling` is how attackers get into a round: "uniform", drawn like everybody, or "fixed", their share of
    every round.
    """

    task: Task
    attack: Attack = Attack()
    defence: Defence = Defence()
    seed: int = 0
    sampling: Literal["uniform", "fixed"] = "uniform"

    def __post_init__(self) -> None:
        """Refuse what cannot be run."""
        check_whole("seed", self.seed, at_least=0)
        check_whole("n_malicious", self.attack.n_malicious, at_least=0, at_most=self.task.n_clients)
        if self.sampling not in ("uniform", "fixed"):
            raise InputError(f"sampling must be 'uniform' or 'fixed'; got {self.sampling!r}")

    @property
    def key(self) -> str:
        """A name for the run's result, the same in every process."""
        return hashlib.sha256(self.described.encode()).hexdigest()[:16]

    @property
    def described(self) -> str:
        """All that determines the result, in words; what is as by default is left out.

        >>> from holdfast.lab import TASKS
        >>> Run(TASKS["phishing"], seed=2).described.endswith("n_together=10), seed=2)")
        True
        """
        return _described(self)

    def replace(self, **changes: Any) -> "Run":
        """Return the run with some fields changed; those of the task by their own names.

        >>> from holdfast.lab import TASKS
        >>> Run(TASKS["phishing"]).replace(n_rounds=3, seed=1).task.n_rounds
        3
        """
        own = {name: value for name, value in changes.items() if name in self.__dataclass_fields__}
        rest = {name: value for name, value in changes.items() if name not in own}
        return replace(self, task=replace(self.task, **rest), **own) if rest else replace(self, **own)


def _described(value: Any) -> str:
    """Return a dataclass as it would be written, without defaults: so a new field changes no key."""
    if not is_dataclass(value) or isinstance(value, Bound | type):
        return repr(value)
    parts = [
        f"{field.name}={_described(getattr(value, field.name))}"
        for field in fields(value)
        if getattr(value, field.name) != field.default
    ]
    return f"{type(value).__name__}({', '.join(parts)})"
