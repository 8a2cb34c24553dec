"""How a training ends: with its last round, or earlier because the policy or the user says so."""

import inspect
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from flwr.app import MetricRecord
from flwr.serverapp.strategy import Result, Strategy
from flwr.supercore.logger import FLOWER_LOGGER

from ..errors import InputError

__all__ = ["ShouldStop", "Stopped", "flowers_format", "numbered_from", "stop_argument"]

#: Called after each round with its number and the result so far, as by Flower 1.43 and later.
ShouldStop = Callable[[int, Result], bool]


class Stopped(Exception):  # noqa: N818 - it is no error
    """Ends the loop of a Flower that has no should_stop."""


def stop_argument(
    is_stopping: Callable[[], bool], wanted: ShouldStop | None, *, before: int
) -> dict[str, Any]:
    """Return should_stop for Flower's Strategy.start, if this one takes it; rounds count after `before`.

    >>> isinstance(stop_argument(lambda: False, None, before=0), dict)
    True
    """
    if "should_stop" not in inspect.signature(Strategy.start).parameters:
        if wanted is not None:
            raise InputError(
                "should_stop needs Flower 1.43 or later: install it, or let a policy stop the training"
            )
        return {}
    return {
        "should_stop": lambda number, result: (
            is_stopping() or (wanted is not None and bool(wanted(number + before, result)))
        )
    }


def numbered_from(result: Result, before: int) -> Result:
    """Return the result with its rounds counted after those of an earlier start."""
    for history in _histories(result):
        shifted = {number + before: record for number, record in history.items()}
        history.clear()
        history.update(shifted)
    return result


@contextmanager
def flowers_format() -> Iterator[None]:
    """Have the lines of holdfast look as Flower's own, unless somebody has set up logging for them."""
    own = logging.getLogger("holdfast")
    added: list[Any] = [] if own.hasHandlers() else [*FLOWER_LOGGER.handlers]
    for handler in added:
        own.addHandler(handler)
    try:
        yield
    finally:
        for handler in added:
            own.removeHandler(handler)


def _histories(result: Result) -> tuple[dict[int, MetricRecord], ...]:
    return (
        result.train_metrics_clientapp,
        result.evaluate_metrics_clientapp,
        result.evaluate_metrics_serverapp,
    )
