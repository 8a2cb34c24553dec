"""The models that a round is probed from. As a setting of a study, a start says which model it is."""

import hashlib
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..._support.counting import check_whole
from ...core import Memory
from ...errors import DataError, InputError
from ...lab.data.split import iid
from ...lab.scenario import Attack, Defence, Run
from ...lab.training import adam

if TYPE_CHECKING:
    from ...lab.simulation import State
    from ...lab.simulation.world import World

__all__ = ["AfterRounds", "ModelFile", "Start", "WarmStart", "is_warm_start", "model_file"]

#: Is told in a few words how far the training of a model is.
Told = Callable[[str], None]


@dataclass(frozen=True)
class AfterRounds:
    """After so many rounds of plain averaging under the attack; before the first, a fresh network.

    >>> print(AfterRounds(), AfterRounds(20), sep=", ")
    from a fresh network, after 20 rounds of plain averaging
    """

    n_rounds: int = 0

    def __post_init__(self) -> None:
        """Refuse what is no number of rounds."""
        check_whole("the number of rounds", self.n_rounds, at_least=0)

    def __str__(self) -> str:
        """Return the start in a few words."""
        if not self.n_rounds:
            return "from a fresh network"
        return f"after {self.n_rounds} round{'s' * (self.n_rounds > 1)} of plain averaging"

    def state(self, world: "World", folder: Path, told: Told) -> "State":
        """Return the model, from the store of runs or made into it."""
        if not self.n_rounds:
            from ...lab.simulation import fresh_state
            from ...runs.warm import warm_state

            return warm_state(world.run, folder) or fresh_state(world, "cpu")
        run = world.run.replace(n_rounds=self.n_rounds, sampling="uniform", defence=Defence())
        return _trained(run, folder, told)


@dataclass(frozen=True)
class WarmStart:
    """After so many epochs of training on all honest training examples in one place, by Adam.

    How clients train is no guide to it: steps that are right for an average of many may diverge alone. Nor
    need the model suit the clients: from where Adam led, long steps may diverge.

    >>> print(WarmStart(2))
    from a warm start of 2 epochs
    """

    epochs: float
    lr: float = 1e-3
    batch_size: int = 64

    def __post_init__(self) -> None:
        """Refuse what is no time to train."""
        if isinstance(self.epochs, bool) or not 0 < self.epochs < math.inf:
            raise InputError(f"a warm start takes a number of epochs above 0; got {self.epochs!r}")
        object.__setattr__(self, "epochs", float(self.epochs))

    def __str__(self) -> str:
        """Return the start in a few words."""
        return f"from a warm start of {self.epochs:g} epoch{'s' * (self.epochs != 1)}"

    def training(self, run: Run) -> Run:
        """Return the training as a run: one honest client has all the examples, and a round is an epoch."""
        n_rounds = math.ceil(self.epochs)
        alone = {"n_clients": 1, "n_per_round": 1, "split": iid, "minority": None}
        pace = {"n_rounds": n_rounds, "epochs": self.epochs / n_rounds, "batch_size": self.batch_size}
        training = {"train": partial(adam, lr=self.lr), "warm_epochs": 0.0, **alone, **pace}
        return run.replace(attack=Attack(), defence=Defence(), sampling="uniform", **training)

    def state(self, world: "World", folder: Path, told: Told) -> "State":
        """Return the model, from the store of runs or made into it."""
        return replace(
            _trained(self.training(world.run), folder, told), round=0, previous=None, memory=Memory()
        )


def is_warm_start(description: Mapping[str, Any]) -> bool:
    """Return whether a stored run is the training of a warm start, by its description.

    >>> from holdfast.lab import TASKS
    >>> run = Run(TASKS["digits"])
    >>> is_warm_start(WarmStart(2).training(run).description), is_warm_start(run.description)
    (True, False)
    """
    task, attack = description["task"], description["attack"]
    is_alone = task["n_clients"] == 1 and task["split"] == "iid()" and attack["backdoor"] is None
    return is_alone and task["train"].startswith("adam(") and "#" not in task["train"]  # not a user's own


@dataclass(frozen=True)
class ModelFile:
    """The model in a file, known by a digest of its bytes; see `model_file`."""

    digest: str
    path: Path = field(repr=False, compare=False)

    def __str__(self) -> str:
        """Return the start in a few words."""
        return f"from the model in {self.path.name}"

    def state(self, world: "World", folder: Path, told: Told) -> "State":
        """Return the model."""
        from ...lab.models import flat_params, load_model, named_buffers
        from ...lab.simulation import State

        load_model(world.model, self.path)
        return State(0, flat_params(world.model), buffers=named_buffers(world.model))


#: A study may start from any of these.
Start = AfterRounds | WarmStart | ModelFile


def model_file(path: Path) -> ModelFile:
    """Return the model in a file: a checkpoint of ours (.npz), .safetensors, or a state dict saved by torch.

    >>> model_file(Path("nowhere.npz"))
    Traceback (most recent call last):
    holdfast.errors.DataError: no model at nowhere.npz
    """
    if not path.is_file():
        raise DataError(f"no model at {path}")
    with path.open("rb") as file:
        return ModelFile(hashlib.file_digest(file, "sha256").hexdigest()[:16], path)


def _trained(run: Run, folder: Path, told: Told) -> "State":
    """Return the state after a run's last round; its model is kept, so that it is made once."""
    from ...runs.recording import final_state, run_and_record

    for result in run_and_record(run, folder, every=1):
        told(f"the model to start from: round {result.n_done} of {run.task.n_rounds}")
    return final_state(run, folder)
