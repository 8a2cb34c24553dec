"""The rounds of a run in TensorBoard, MLflow or Weights & Biases.

A tracker's package is imported when that tracker is asked for. What it gets is in the result's file, too: a
tracker that fails halfway never costs a run.
"""

import logging
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from types import MappingProxyType
from typing import Any, Protocol

import numpy as np

from .._support.lookup import nearest
from ..errors import HoldfastError, InputError
from .records import COLUMNS, OPTIONAL
from .results import Result

__all__ = ["TRACKERS", "MLflow", "TensorBoard", "Tracker", "WandB", "track", "tracker_named"]

log = logging.getLogger("holdfast")

#: What is sent of a result beside its numbers.
FACTS = ("task", "attack", "defence", "seed", "n_rounds", "device", "version", "key")


class Tracker(Protocol):
    """What is called at the start of a run, after each round, and at its end."""

    def begin(self, result: Result) -> None:
        """Take what determines the run."""

    def log(self, number: int, numbers: Mapping[str, float]) -> None:
        """Take the numbers of a round."""

    def end(self, *, finished: bool) -> None:
        """Close what was opened."""


def track(results: Iterable[Result], tracker: Tracker) -> Iterator[Result]:
    """Yield the results as they come, and send every round to the tracker once.

    >>> list(track([], TensorBoard("logs")))
    []
    """
    n_sent, begun, works, finished = 0, False, True, False
    try:
        for result in results:
            if not begun:
                _begin(tracker, result)
                begun = True
            while works and n_sent < result.n_done:
                n_sent += 1
                works = _log(tracker, result, n_sent)
            finished = result.finished
            yield result
    finally:
        if begun:
            _end(tracker, finished)


def _begin(tracker: Tracker, result: Result) -> None:
    try:
        tracker.begin(result)
    except Exception as error:  # what trackers raise has no type in common
        name = type(tracker).__name__
        raise HoldfastError(f"{name} cannot be used: {error}. Fix that, or run without --track") from error


def _log(tracker: Tracker, result: Result, number: int) -> bool:
    """Send a round's numbers, without those that are not measured; return whether that worked."""
    series = {name: result.series(name)[number - 1] for name in (*COLUMNS, *OPTIONAL)}
    try:
        tracker.log(number, {name: float(value) for name, value in series.items() if value is not None})
    except Exception as error:
        log.warning("%s failed: %s. The run continues without it", type(tracker).__name__, error)
        return False
    return True


def _end(tracker: Tracker, finished: bool) -> None:
    """Close a tracker; by then the run is stored."""
    try:
        tracker.end(finished=finished)
    except Exception as error:
        log.warning("%s could not be closed: %s. The run is stored", type(tracker).__name__, error)


class TensorBoard:
    """Event files, one folder per run; a run that is tracked again replaces what was there of it.

    >>> TensorBoard("logs").folder
    PosixPath('logs')
    """

    def __init__(self, target: str | None = None) -> None:
        """Take the folder for all runs."""
        self.folder = Path(target or "tensorboard")

    def begin(self, result: Result) -> None:
        """Open the run's folder."""
        from tensorboard.compat.proto.event_pb2 import SessionLog
        from tensorboard.plugins.text.metadata import create_summary_metadata
        from tensorboard.summary.writer.event_file_writer import EventFileWriter
        from tensorboard.util.tensor_util import make_tensor_proto

        self.writer: Any = EventFileWriter(str(self.folder / result.key))
        # From this step on, what earlier files of the folder hold is void.
        self._write(step=1, session_log=SessionLog(status=SessionLog.START))
        facts = "".join(f"    {name}: {getattr(result, name)}\n" for name in FACTS)  # indented: not Markdown
        text = np.array([f"{facts}\n    {result.described}".encode()], dtype=object)
        metadata = create_summary_metadata(display_name="run", description="")
        self._summarise(0, [{"tag": "run", "metadata": metadata, "tensor": make_tensor_proto(text)}])

    def log(self, number: int, numbers: Mapping[str, float]) -> None:
        """Write the round's numbers at once, for whoever is watching."""
        self._summarise(number, [{"tag": name, "simple_value": value} for name, value in numbers.items()])
        self.writer.flush()

    def end(self, *, finished: bool) -> None:
        """Close the files."""
        self.writer.close()

    def _summarise(self, step: int, values: list[dict[str, Any]]) -> None:
        from tensorboard.compat.proto.summary_pb2 import Summary

        self._write(step=step, summary=Summary(value=[Summary.Value(**value) for value in values]))

    def _write(self, **fields: Any) -> None:
        from tensorboard.compat.proto.event_pb2 import Event

        self.writer.add_event(Event(wall_time=time.time(), **fields))


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
        self.client.log_batch(self.id, params=params, tags=[RunTag("holdfast.run", result.described[:5000])])

    def log(self, number: int, numbers: Mapping[str, float]) -> None:
        """Send the round's numbers."""
        from mlflow.entities import Metric

        now = int(1000 * time.time())
        metrics = [Metric(name, value, now, number) for name, value in numbers.items()]
        self.client.log_batch(self.id, metrics=metrics)

    def end(self, *, finished: bool) -> None:
        """Send how it ended."""
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
        """Create the run, or resume it: it is known by its key."""
        import wandb

        config = {name: getattr(result, name) for name in FACTS} | {"run": result.described}
        name = f"{result.task} {result.attack} {result.defence} seed {result.seed}"
        self.run: Any = wandb.init(
            project=self.project, id=result.key, name=name, config=config, resume="allow", reinit="create_new"
        )

    def log(self, number: int, numbers: Mapping[str, float]) -> None:
        """Send the round's numbers."""
        self.run.log(dict(numbers), step=number)

    def end(self, *, finished: bool) -> None:
        """Send how it ended."""
        self.run.finish(exit_code=0 if finished else 1)


#: The trackers by name, with the package that each one needs.
TRACKERS: Mapping[str, tuple[Callable[[str | None], Tracker], str]] = MappingProxyType(
    {"tensorboard": (TensorBoard, "tensorboard"), "mlflow": (MLflow, "mlflow"), "wandb": (WandB, "wandb")}
)


def tracker_named(text: str) -> Tracker:
    """Return the tracker of this name; what follows a colon is its folder, tracking URI or project.

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
        raise InputError(f"{name} is not installed: pip install 'holdfast-fl[{name}]'")
    return kind(target or None)
