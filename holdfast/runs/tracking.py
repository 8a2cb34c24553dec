"""The records of a run to TensorBoard, MLflow or Weights & Biases, for those who have them.

Nothing of theirs is imported before a tracker of that name is asked for. What is sent is what the result's
file holds anyway, so a tracker that fails halfway never costs a run.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

from ..core import nearest
from ..errors import HoldfastError, InputError
from .results import Result

__all__ = ["TRACKERS", "MLflow", "TensorBoard", "Tracker", "WandB", "numbers_of", "tracked", "tracker_named"]

log = logging.getLogger("holdfast")

#: What is sent of a result beside its numbers.
FACTS = ("task", "attack", "defence", "seed", "n_rounds", "device", "version", "key")


class Tracker(Protocol):
    """Whoever wants to hear of a run: at its start, after each round, at its end."""

    def begin(self, result: Result) -> None:
        """Hear what is run."""

    def log(self, number: int, numbers: Mapping[str, float]) -> None:
        """Hear what a round came to."""

    def end(self, *, finished: bool) -> None:
        """Hear that no more comes."""


def tracked(results: Iterable[Result], tracker: Tracker) -> Iterator[Result]:
    """Yield the results as they come, and tell the tracker of every round once.

    >>> from types import SimpleNamespace
    >>> heard = SimpleNamespace(begin=lambda result: None, end=lambda finished: None)
    >>> list(tracked([], heard))
    []
    """
    n_told, begun, listens, finished = 0, False, True, False
    try:
        for result in results:
            if not begun:
                _begin(tracker, result)
                begun = True
            for record in result.records[n_told:] if listens else ():
                listens = listens and _told(tracker, record)
            n_told, finished = len(result.records), result.finished
            yield result
    finally:
        if begun:
            tracker.end(finished=finished)


def _begin(tracker: Tracker, result: Result) -> None:
    try:
        tracker.begin(result)
    except Exception as error:  # what theirs raise has no type in common
        name = type(tracker).__name__
        raise HoldfastError(
            f"{name} cannot be used: {error}. Run it without --track, or mend that"
        ) from error


def _told(tracker: Tracker, record: Mapping[str, Any]) -> bool:
    try:
        tracker.log(record["round"], numbers_of(record))
    except Exception as error:
        log.warning("%s does not listen any more: %s. The run goes on", type(tracker).__name__, error)
        return False
    return True


def numbers_of(record: Mapping[str, Any]) -> dict[str, float]:
    """Return what can be drawn of a stored record, by name; what a rule does not measure is left out.

    >>> diagnostics = {"kept_fraction": None, "dropped": []}
    >>> numbers_of({"accuracy": 0.9, "attack_success": None, "seconds": 1.5, "diagnostics": diagnostics})
    {'accuracy': 0.9, 'seconds': 1.5, 'n_dropped': 0.0}
    """
    diagnostics = record["diagnostics"]
    found = {name: record.get(name) for name in ("accuracy", "attack_success", "n_attackers", "seconds")}
    found |= {"kept_fraction": diagnostics["kept_fraction"], "n_dropped": len(diagnostics["dropped"])}
    return {name: float(number) for name, number in found.items() if number is not None}


class TensorBoard:
    """Event files, a folder a run; a run that is made again takes the place of what was there of it.

    >>> TensorBoard("logs").folder
    PosixPath('logs')
    """

    def __init__(self, target: str | None = None) -> None:
        """Take the folder for all runs."""
        self.folder = Path(target or "tensorboard")

    def begin(self, result: Result) -> None:
        """Open the run's folder."""
        from torch.utils.tensorboard import SummaryWriter

        self.writer: Any = SummaryWriter(str(self.folder / result.key), purge_step=1)
        facts = "".join(f"    {name}: {getattr(result, name)}\n" for name in FACTS)  # indented: not Markdown
        self.writer.add_text("run", f"{facts}\n    {result.run}")

    def log(self, number: int, numbers: Mapping[str, float]) -> None:
        """Write the round's numbers, for whoever is looking, at once."""
        for name, value in numbers.items():
            self.writer.add_scalar(name, value, number)
        self.writer.flush()

    def end(self, *, finished: bool) -> None:
        """Close the files."""
        self.writer.close()


class MLflow:
    """A run in MLflow's experiment "holdfast", at a tracking URI or where MLflow is set up to log.

    >>> MLflow().uri is None
    True
    """

    def __init__(self, target: str | None = None) -> None:
        """Take the tracking URI."""
        self.uri = target

    def begin(self, result: Result) -> None:
        """Create the run, with all that determines it."""
        from mlflow import MlflowClient
        from mlflow.entities import Param, RunTag

        self.client: Any = MlflowClient(tracking_uri=self.uri)
        experiment = self.client.get_experiment_by_name("holdfast")
        number = experiment.experiment_id if experiment else self.client.create_experiment("holdfast")
        name = f"{result.task} {result.attack} {result.defence} seed {result.seed}"
        self.id = self.client.create_run(number, run_name=name).info.run_id
        params = [Param(name, str(getattr(result, name))) for name in FACTS]
        self.client.log_batch(self.id, params=params, tags=[RunTag("holdfast.run", result.run[:5000])])

    def log(self, number: int, numbers: Mapping[str, float]) -> None:
        """Send the round's numbers."""
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        metrics = [Metric(name, value, now, number) for name, value in numbers.items()]
        self.client.log_batch(self.id, metrics=metrics)

    def end(self, *, finished: bool) -> None:
        """Say how it ended."""
        self.client.set_terminated(self.id, "FINISHED" if finished else "KILLED")


class WandB:
    """A run in a project of Weights & Biases; WANDB_MODE=offline keeps it on this machine.

    >>> WandB().project
    'holdfast'
    """

    def __init__(self, target: str | None = None) -> None:
        """Take the project's name."""
        self.project = target or "holdfast"

    def begin(self, result: Result) -> None:
        """Create the run, or go on with it: it is known by its key."""
        import wandb

        config = {name: getattr(result, name) for name in FACTS} | {"run": result.run}
        name = f"{result.task} {result.attack} {result.defence} seed {result.seed}"
        self.run: Any = wandb.init(
            project=self.project, id=result.key, name=name, config=config, resume="allow", reinit="create_new"
        )

    def log(self, number: int, numbers: Mapping[str, float]) -> None:
        """Send the round's numbers."""
        self.run.log(dict(numbers), step=number)

    def end(self, *, finished: bool) -> None:
        """Say how it ended."""
        self.run.finish(exit_code=0 if finished else 1)


#: The trackers by name, with the package that each one needs.
TRACKERS: Mapping[str, tuple[Callable[[str | None], Tracker], str]] = MappingProxyType(
    {"tensorboard": (TensorBoard, "tensorboard"), "mlflow": (MLflow, "mlflow"), "wandb": (WandB, "wandb")}
)


def tracker_named(text: str) -> Tracker:
    """Return the tracker of this name; after a colon, where to: a folder, a tracking URI, a project.

    >>> tracker_named("tensorbord")
    Traceback (most recent call last):
    holdfast.errors.InputError: no tracker 'tensorbord'; did you mean 'tensorboard'? There are: tensorboard,
    mlflow, wandb
    """
    name, _, target = text.partition(":")
    if name not in TRACKERS:
        raise InputError(f"no tracker {name!r}; {nearest(name, TRACKERS)}There are: {', '.join(TRACKERS)}")
    kind, package = TRACKERS[name]
    if find_spec(package) is None:
        raise InputError(f"{name} is not installed: pip install 'holdfast[{name}]'")
    return kind(target or None)
