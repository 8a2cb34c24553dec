"""From the result of a round to the ledger, for a loop of your own."""

import time
from collections.abc import Collection, Mapping
from dataclasses import fields
from numbers import Real
from typing import Any

from .._support.counting import check_whole
from .._support.lookup import nearest
from ..core import Rule, Watch
from ..defending import Defended
from ..errors import InputError
from .entries import RoundEntry, entry_of
from .hashing import model_hash
from .opening import Ledger

__all__ = ["record_round"]

#: What of a round is one number.
NUMBERS = ("accuracy", "attack_success", "loss", "seconds", "kept_fraction")


def record_round(
    ledger: Ledger,
    result: Defended,
    *,
    round: int,
    rule: Rule | None = None,
    watch: Watch | None = None,
    base: Any = None,
    clients: Collection[Any] | None = None,
    examples: Mapping[Any, float] | None = None,
    at: float | None = None,
    **facts: Any,
) -> RoundEntry:
    """Write what `defend` returned for a round, and return what was written.

    `base` is the model that the round began with: its hash is kept, and that of the next one, never the
    models. `clients` are those who were asked: in a hearing, the result does not say. `examples` are
    sample counts by client id; `facts` are further fields of a RoundEntry, such as
    accuracy, loss, seconds or metrics; a number among them that is not finite is kept as None.

    Rounds count from 1 upwards. One that is in the ledger already is not replaced: who makes it again says so
    first, `ledger.undo(after=round - 1, why="...")`. Nobody else may write rounds until the ledger is closed.

    >>> import tempfile
    >>> import numpy as np
    >>> from holdfast import defend, median
    >>> from holdfast.ledger import open_ledger
    >>> sent = {"ann": np.array([1.0]), "bob": np.array([2.0]), "eve": np.array([np.nan])}
    >>> with open_ledger(f"{tempfile.mkdtemp()}/federation.db") as ledger:
    ...     written = record_round(ledger, defend(sent, median, like=np.zeros(1)), round=1, rule=median)
    ...     [(one["id"], one["n_used"], one["n_dropped"]) for one in ledger.clients()]
    [('ann', 1, 0), ('bob', 1, 0), ('eve', 0, 1)]
    """
    _check_facts(facts)
    check_whole("round", round, at_least=1)
    round = int(round)
    ledger.hold()
    last = max((one["round"] for one in ledger.rounds()), default=0)
    if round <= last:
        raise InputError(
            f"round {round} cannot be written: the last round in {ledger.path} is {last}. Continue with"
            f" round={last + 1}, or take the old ones back: ledger.undo(after={round - 1}, why='...')"
        )
    hashes = {"model_before": base, "model_after": result.model}
    known = {name: model_hash(model) for name, model in hashes.items() if model is not None}
    entry = entry_of(
        result.diagnostics,
        result.verdicts,
        round=round,
        rule=None if rule is None else str(rule),
        watch=None if watch is None else str(watch),
        asked=clients,
        examples=examples,
        **{**known, **facts},
    )
    ledger.write(entry, at=time.time() if at is None else at)
    return entry


def _check_facts(facts: Mapping[str, Any]) -> None:
    """Raise an InputError for what a round has no place for, and for what should be a number and is none."""
    known = [field.name for field in fields(RoundEntry)]
    for name, value in facts.items():
        if name not in known:
            raise InputError(f"a round has no {name!r}; {nearest(name, known)}Put it into metrics={{...}}")
        if name in NUMBERS and value is not None and not _is_number(value):
            raise InputError(f"{name} must be a number; got {value!r}")
    metrics = facts.get("metrics", {})
    if not isinstance(metrics, Mapping):
        raise InputError(f"metrics must be a mapping of names to values; got {type(metrics).__name__}")


def _is_number(value: Any) -> bool:
    """Return whether this is one number, of Python, NumPy or, as an array of no dimensions, torch."""
    if isinstance(value, bool | str):
        return False
    return isinstance(value, Real) or (hasattr(value, "__float__") and getattr(value, "ndim", None) == 0)
