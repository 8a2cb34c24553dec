"""The contract of a rule, and whether a rule keeps it: anybody's, or ours."""

import logging
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from ..._support.printable import printable
from ...core import Aggregate, Rule, bind
from ...errors import InputError, TooFewClientsError
from .averaging import plain_averaging
from .certificate import Certificate, Clause, failed
from .conduct import form, honest_step, ids, order, scale, settings
from .growth import memory, time_growth
from .remembering import repeats
from .resistance import collusion, hostile_rows, one_client, weights
from .rounds import Undecided, crowd

__all__ = ["Certificate", "Clause", "check"]

#: The contract, by the names of its clauses. The first one runs before a rule could have seen anything.
CONTRACT: dict[str, Callable[[Rule], Clause]] = {
    "repeats": repeats,
    "form": form,
    "order": order,
    "ids": ids,
    "scale": scale,
    "settings": settings,
    "honest step": honest_step,
    "hostile rows": hostile_rows,
    "plain averaging": plain_averaging,
    "one client": one_client,
    "collusion": collusion,
    "sample counts": weights,
    "memory": memory,
    "time": time_growth,
}


def check(rule: Rule | Callable[..., Aggregate], *, timed: bool = True) -> Certificate:
    """Return how a rule meets the contract: tried on made-up rounds, always the same ones.

    What is bounded is bounded on these rounds: a failure is a proof, a pass is none. `timed` also measures
    how the time grows, the one clause that is not the same in every run.

    >>> from holdfast import fedavg, median
    >>> check(median, timed=False).passed
    True
    >>> check(fedavg, timed=False).failures
    ('plain averaging', 'one client', 'collusion', 'sample counts')
    """
    bound = bind(rule)
    bound.check_complete()
    with _quiet():
        _check_settings(bound)
        clauses = [_found(name, judge, bound) for name, judge in CONTRACT.items() if timed or name != "time"]
    return Certificate(repr(bound), tuple(clauses))


def _check_settings(rule: Rule) -> None:
    """Raise if a rule of ours refuses one of its settings on a plain round: that says nothing about the rule.

    Others have not seen a round yet when the first clause begins.
    """
    behind: Any = rule
    while behind is not None:
        if behind.function.__module__.partition(".")[0] != __name__.partition(".")[0]:
            return
        behind = behind.inner
    sent = crowd()
    inputs = {name: value for name, value in sent.inputs().items() if rule.needs(name)}
    try:
        rule.run(sent.rows, **inputs)
    except TooFewClientsError:
        return
    except InputError as error:
        if any(str(error).startswith(f"{name}{end}") for name, _ in rule.settings for end in (" ", ",")):
            raise
    except Exception:  # what the clauses are there to find
        return


def _found(name: str, judge: Callable[[Rule], Clause], rule: Rule) -> Clause:
    """Return the clause; a rule that raises fails it."""
    try:
        return judge(rule)
    except Undecided as reason:
        return failed(name, f"a round is not aggregated: {reason}")
    except Exception as error:
        return failed(name, f"raises {type(error).__name__}: {printable(error, limit=200)}")


@contextmanager
def _quiet() -> Iterator[Any]:
    """Keep what rounds that are meant to go wrong would say out of the logs."""
    log = logging.getLogger("holdfast")
    level = log.level
    log.setLevel(logging.CRITICAL + 1)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        log.setLevel(level)
