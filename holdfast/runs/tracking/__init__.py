"""The rounds of a run in TensorBoard, MLflow or Weights & Biases.

A tracker's package is imported when that tracker is asked for. What it gets is in the result's file, too: a
tracker that fails halfway never costs a run.
"""

import logging
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping
from importlib.util import find_spec
from types import MappingProxyType

from ..._support.extras import install
from ..._support.lookup import offered
from ...errors import HoldfastError, InputError
from ..results import Result
from .on_mlflow import MLflow
from .on_tensorboard import TensorBoard
from .on_wandb import WandB
from .series import Series
from .tracker import Tracker

__all__ = ["TRACKERS", "MLflow", "TensorBoard", "Tracker", "WandB", "track", "tracker_named"]

log = logging.getLogger("holdfast")


def track(results: Iterable[Result], tracker: Tracker) -> Iterator[Result]:
    """Yield the results as they come, and send every round to the tracker once.

    >>> list(track([], TensorBoard("logs")))
    []
    """
    n_sent, begun, works, finished, series = 0, False, True, False, Series()
    try:
        for result in results:
            if not begun:
                _begin(tracker, result)
                begun = True
            while works and n_sent < result.n_done:
                n_sent += 1
                works = _log(tracker, series, result, n_sent)
            finished = result.finished
            yield result
    finally:
        if begun:
            _end(tracker, finished)
        if isinstance(results, Generator):  # others may make the run now
            results.close()


def _begin(tracker: Tracker, result: Result) -> None:
    try:
        tracker.begin(result)
    except Exception as error:  # what trackers raise has no type in common
        raise HoldfastError(
            f"{tracker.title} cannot be used: {error}. Fix that, or run without --track"
        ) from error


def _log(tracker: Tracker, series: Series, result: Result, number: int) -> bool:
    """Send what there is of a round; return whether that worked."""
    numbers, note = series.of_round(result, number)
    try:
        tracker.log(number, numbers)
        if note:
            tracker.note(number, note)
    except Exception as error:
        log.warning("%s failed: %s. The run continues without it", tracker.title, error)
        return False
    return True


def _end(tracker: Tracker, finished: bool) -> None:
    """Close a tracker; by then the run is stored."""
    try:
        tracker.end(finished=finished)
    except Exception as error:
        log.warning("%s could not be closed: %s. The run is stored", tracker.title, error)


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
        raise InputError(f"no tracker {name!r}{offered(name, TRACKERS)}")
    kind, package = TRACKERS[name]
    if find_spec(package) is None:
        raise InputError(f"{name} is not installed; {install(name)}")
    return kind(target or None)
