"""What is run: Task, Attack, Defence, Run. Frozen values of functions and numbers; they never run.

A field that takes a function takes it plain, as a functools.partial with settings, or as a rule.
"""

from dataclasses import dataclass, field, fields, is_dataclass, replace
from typing import Any, Literal

from .._support.counting import check_whole, whole_share
from .._support.keys import key_of
from .._support.spelling import spelt
from ..aggregators import fedavg
from ..core import Bound, bind
from ..errors import InputError
from .data.split import iid
from .inference import most_likely

__all__ = ["Attack", "Defence", "Run", "Task"]


def _bind_fields(value: Any, **roles: str) -> None:
    """Put the functions in these fields into their roles, with all settings filled in."""
    for name, role in roles.items():
        given = getattr(value, name)
        many = given if isinstance(given, tuple) else () if given is None else (given,)
        bound = tuple(bind(function, role) for function in many)
        for one in bound:
            one.check_complete()
        if many:
            object.__setattr__(value, name, bound if isinstance(given, tuple) else bound[0])


def _as_floats(value: Any, *names: str) -> None:
    """Store whole numbers as floats, so that 1 and 1.0 describe the same run."""
    for name in names:
        given = getattr(value, name)
        if isinstance(given, bool) or not isinstance(given, int | float):
            raise InputError(f"{name} must be a number; got {given!r}")
        object.__setattr__(value, name, float(given))


@dataclass(frozen=True)
class Task:
    """What honest clients do: their data, how it is dealt out, the network and the local training.

    `train` takes (model, params, shards) and returns one update per shard. At most `n_together` clients
    train at once: a number of the run, so that its bits never depend on the machine. `minority` takes
    examples and returns them as a minority of the honest clients has them, with the same labels.

    >>> from functools import partial
    >>> from holdfast.lab.data import digits
    >>> from holdfast.lab.models import small_cnn
    >>> from holdfast.lab.training import sgd
    >>> Task("mine", digits, small_cnn, partial(sgd, lr=0.1)).train
    sgd(lr=0.1, momentum=0.0)
    """

    name: str
    data: Any
    model: Any
    train: Any
    split: Any = iid
    epochs: float = 1.0
    batch_size: int = 64
    n_clients: int = 100
    n_per_round: int = 20
    n_rounds: int = 20
    n_root: int = 100  # examples that the server holds itself, for rules that ask for a reference
    n_together: int = 1  # clients that train as one computation, at most
    augment: Any = None  # what a client does to its examples before it trains, anew each round
    warm_epochs: float = 0.0  # how long the server trains on its own examples before the first round
    minority: Any = field(default=None, metadata={"before": None})
    minority_share: float = field(default=0.1, metadata={"before": 0.1})  # of all clients
    warm: Any = field(
        default=None, metadata={"before": None}
    )  # how the server trains then, if not as clients
    # Where BatchNorm's running statistics live: clients send them, or they stay on the one worker that trains
    # all clients while the server keeps those of its start. See `simulation.statistics`.
    statistics: Literal["sent", "worker"] = field(default="sent", metadata={"before": "sent"})

    def __post_init__(self) -> None:
        """Put the functions into their roles, and refuse numbers that allow no round."""
        _bind_fields(self, data="loader", model="model", train="training", split="split")
        _bind_fields(self, augment="augmentation", minority="minority", warm="training")
        _as_floats(self, "epochs", "warm_epochs", "minority_share")
        for name in ("batch_size", "n_clients", "n_rounds", "n_root", "n_together"):
            check_whole(name, getattr(self, name), at_least=1)
        check_whole("n_per_round", self.n_per_round, at_least=1, at_most=self.n_clients)
        if not 0 < self.epochs < float("inf") or not 0 <= self.warm_epochs < float("inf"):
            raise InputError(
                "epochs must be a finite number above 0, warm_epochs one of at least 0;"
                f" got {self.epochs} and {self.warm_epochs}"
            )
        if not 0 <= self.minority_share <= 1:
            raise InputError(f"minority_share must be in [0, 1]; got {self.minority_share}")
        if self.statistics not in ("sent", "worker"):
            raise InputError(f"statistics must be 'sent' or 'worker'; got {self.statistics!r}")

    @property
    def n_minority(self) -> int:
        """How many honest clients are in the minority."""
        return whole_share(self.minority_share, self.n_clients) if self.minority else 0


@dataclass(frozen=True)
class Attack:
    """What malicious clients do: the backdoor they learn, and what they make of their updates.

    The default is nobody.
    """

    name: str = "none"
    n_malicious: int = 0
    backdoor: Any = None
    train: Any = None  # how attackers train, if not like everybody
    crafts: tuple[Any, ...] = ()  # applied one after the other to the attackers' updates
    colludes: bool = False  # the first attacker of a round trains on the examples of all, who send its update
    poison_fraction: float = 0.5  # poisoned examples added to a shard, per clean one; it may be above 1
    # If above 0, so many poisoned examples, drawn anew in each round, replace the last of every clean batch,
    # and poison_fraction is not used.
    poison_per_batch: int = field(default=0, metadata={"before": 0})
    exposure: float = 0.0  # share of an edge-case pool that honest clients hold, labelled correctly
    rounds: range = range(1, 1_000_000)
    sleeps: int = field(default=0, metadata={"before": 0})  # honest rounds before the first attack
    period: int = field(default=1, metadata={"before": 1})  # attack only in every period-th round
    whitewashes: bool = field(default=False, metadata={"before": False})  # once expelled, take a new id
    # The second half of the attackers label their poisoned examples correctly. That hides the backdoor of the
    # first half until the server expels the second.
    masks: bool = field(default=False, metadata={"before": False})

    def __post_init__(self) -> None:
        """Put the functions into their roles, and refuse numbers outside their range."""
        if not isinstance(self.crafts, tuple):
            raise InputError(
                f"crafts must be a tuple of functions, such as (sign_flip,); got {spelt(self.crafts)}"
            )
        listed = isinstance(self.rounds, tuple | list | set | frozenset)
        if not isinstance(self.rounds, range) and not (
            listed and all(isinstance(one, int) for one in self.rounds)
        ):
            raise InputError(
                f"rounds must hold the numbers of rounds, such as range(1, 11); got {self.rounds!r}"
            )
        _bind_fields(self, backdoor="backdoor", train="training", crafts="craft")
        _as_floats(self, "poison_fraction", "exposure")
        check_whole("n_malicious", self.n_malicious, at_least=0)
        check_whole("poison_per_batch", self.poison_per_batch, at_least=0)
        check_whole("sleeps", self.sleeps, at_least=0)
        check_whole("period", self.period, at_least=1)
        if not 0 <= self.poison_fraction < float("inf") or not 0 <= self.exposure <= 1:
            raise InputError(
                "poison_fraction must be a finite number of at least 0 and exposure in [0, 1];"
                f" got {self.poison_fraction} and {self.exposure}"
            )

    def is_on(self, number: int) -> bool:
        """Return whether malicious clients attack in a round; otherwise they are honest in all they do.

        >>> [number for number in range(10) if Attack("late", 3, sleeps=4, period=2).is_on(number)]
        [6, 8]
        """
        return number in self.rounds and number > self.sleeps and number % self.period == 0


@dataclass(frozen=True)
class Defence:
    """What the server does with the updates and, where it asks for more, how honest clients train and how the
    model answers. `after` trains the new model on the server's own examples.

    >>> from holdfast import invariant
    >>> Defence("mine", invariant(tau=0.5)).aggregate
    invariant(tau=0.5, alpha=0.25, strict=False)
    """

    name: str = "fedavg"
    aggregate: Any = fedavg
    train: Any = None
    predict: Any = most_likely
    watch: Any = field(default=None, metadata={"before": None})  # over the clients, such as factions()
    after: Any = field(default=None, metadata={"before": None})  # how the server trains after each round

    def __post_init__(self) -> None:
        """Put the functions into their roles."""
        _bind_fields(self, aggregate="rule", train="training", predict="prediction", watch="watch")
        _bind_fields(self, after="training")


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
        n_clients, n_minority = self.task.n_clients, self.task.n_minority
        check_whole("n_malicious", self.attack.n_malicious, at_least=0, at_most=n_clients)
        if self.attack.n_malicious + n_minority > n_clients:
            raise InputError(
                f"{self.attack.n_malicious} attackers leave too few of {n_clients} clients for a minority"
                f" of {n_minority}: take fewer attackers or a smaller minority_share"
            )
        if self.attack.poison_per_batch >= self.task.batch_size:
            raise InputError(
                f"poison_per_batch must be below batch_size={self.task.batch_size};"
                f" got {self.attack.poison_per_batch}"
            )
        if self.sampling not in ("uniform", "fixed"):
            raise InputError(f"sampling must be 'uniform' or 'fixed'; got {self.sampling!r}")

    @property
    def description(self) -> dict[str, Any]:
        """All that determines the result, by role and with every default, as plain values.

        A function stands there by its name and settings, wherever it lives. One that is not the package's own
        has a digest of its source, and of the functions, classes and constants of yours that it uses: moving
        a file changes nothing, editing your own rule or what it calls does.

        >>> from holdfast.lab import TASKS
        >>> Run(TASKS["phishing"]).description["task"]["train"]
        'batched_sgd(lr=0.1, momentum=0.0)'
        """
        return {field.name: _plain(getattr(self, field.name)) for field in fields(self)}

    @property
    def key(self) -> str:
        """A short name for the run's result: a digest of the description, the same in every process."""
        return key_of(self.description)

    def replace(self, **changes: Any) -> "Run":
        """Return the run with some fields changed; those of the task by their own names.

        >>> from holdfast.lab import TASKS
        >>> Run(TASKS["phishing"]).replace(n_rounds=3, seed=1).task.n_rounds
        3
        """
        own = {name: value for name, value in changes.items() if name in self.__dataclass_fields__}
        rest = {name: value for name, value in changes.items() if name not in own}
        return replace(self, task=replace(self.task, **rest), **own) if rest else replace(self, **own)


def _plain(value: Any) -> Any:
    """Return a part of a run as plain values.

    A field that was added later has `metadata={"before": value}`: the value that all runs had before it was
    there. It is left out while it has that value, so that their descriptions stay what they were.
    """
    if isinstance(value, Bound):
        return value.identity
    if isinstance(value, tuple):
        return [_plain(item) for item in value]
    if is_dataclass(value):
        parts = {field: getattr(value, field.name) for field in fields(value)}
        return {
            field.name: _plain(part)
            for field, part in parts.items()
            if "before" not in field.metadata or field.metadata["before"] != part
        }
    return value if isinstance(value, str | int | float | None) else repr(value)
